// SPDX-License-Identifier: BSD-3-Clause
// Exported functions pass on what they got. Every argument is a word, as in entries.h, so all that
// is needed of a function is their number: TUTTI_PARAMETERS_N declares and TUTTI_ARGUMENTS_N passes
// N of them.
#pragma once

#include "mpi/entries.h"

namespace tutti::mpi {

// The number of arguments of a type of pointers to functions.
template <class... Parameters>
constexpr int count_arguments(int (*)(Parameters...)) {
  return sizeof...(Parameters);
}
template <class Function>
inline constexpr int arity = count_arguments(Function{});

}  // namespace tutti::mpi

#define TUTTI_PARAMETERS_0
#define TUTTI_PARAMETERS_1 Word a
#define TUTTI_PARAMETERS_2 TUTTI_PARAMETERS_1, Word b
#define TUTTI_PARAMETERS_3 TUTTI_PARAMETERS_2, Word c
#define TUTTI_PARAMETERS_4 TUTTI_PARAMETERS_3, Word d
#define TUTTI_PARAMETERS_5 TUTTI_PARAMETERS_4, Word e
#define TUTTI_PARAMETERS_6 TUTTI_PARAMETERS_5, Word f
#define TUTTI_PARAMETERS_7 TUTTI_PARAMETERS_6, Word g
#define TUTTI_PARAMETERS_8 TUTTI_PARAMETERS_7, Word h
#define TUTTI_PARAMETERS_9 TUTTI_PARAMETERS_8, Word i
#define TUTTI_PARAMETERS_10 TUTTI_PARAMETERS_9, Word j
#define TUTTI_PARAMETERS_11 TUTTI_PARAMETERS_10, Word k
#define TUTTI_PARAMETERS_12 TUTTI_PARAMETERS_11, Word l
#define TUTTI_ARGUMENTS_0
#define TUTTI_ARGUMENTS_1 a
#define TUTTI_ARGUMENTS_2 TUTTI_ARGUMENTS_1, b
#define TUTTI_ARGUMENTS_3 TUTTI_ARGUMENTS_2, c
#define TUTTI_ARGUMENTS_4 TUTTI_ARGUMENTS_3, d
#define TUTTI_ARGUMENTS_5 TUTTI_ARGUMENTS_4, e
#define TUTTI_ARGUMENTS_6 TUTTI_ARGUMENTS_5, f
#define TUTTI_ARGUMENTS_7 TUTTI_ARGUMENTS_6, g
#define TUTTI_ARGUMENTS_8 TUTTI_ARGUMENTS_7, h
#define TUTTI_ARGUMENTS_9 TUTTI_ARGUMENTS_8, i
#define TUTTI_ARGUMENTS_10 TUTTI_ARGUMENTS_9, j
#define TUTTI_ARGUMENTS_11 TUTTI_ARGUMENTS_10, k
#define TUTTI_ARGUMENTS_12 TUTTI_ARGUMENTS_11, l
