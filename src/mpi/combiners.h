// SPDX-License-Identifier: BSD-3-Clause
// How a datatype was made, as each ABI family numbers it.
#pragma once

#include <cstdint>
#include <iterator>

#include "mpi/handles.h"

namespace tutti::mpi {

// clang-format off
enum class Combiner : std::uint8_t {
  unknown,  // to this table, or not worth knowing: darray, what only Fortran 77 had
  named, dup, contiguous, vector, hvector, indexed, hindexed, indexed_block, hindexed_block,
  structure, subarray, f90, resized, value_index,
};

inline Combiner combiner_of(Family family, int number) {
  using enum Combiner;
  // Open MPI counts from 0, MPICH from 1, the standard ABI from 101.
  constexpr Combiner old[] = {
      named, dup, contiguous, vector, unknown, hvector, indexed, unknown, hindexed, indexed_block,
      unknown, structure, subarray, unknown, f90, f90, f90, resized, hindexed_block, value_index};
  constexpr Combiner standard[] = {
      named, dup, contiguous, vector, hvector, indexed, hindexed, indexed_block, hindexed_block,
      structure, subarray, unknown, f90, f90, f90, resized, value_index};
  if (family == Family::standard)
    return number > 100 && number <= 100 + std::ssize(standard) ? standard[number - 101] : unknown;
  const int place = family == Family::mpich ? number - 1 : number;
  return place >= 0 && place < std::ssize(old) ? old[place] : unknown;
}
// clang-format on

// MPI_ORDER_C
inline int order_c(Family family) {
  switch (family) {
    case Family::openmpi:
      return 0;
    case Family::mpich:
      return 56;
    case Family::standard:
      return 0xc;
  }
  return -1;
}

}  // namespace tutti::mpi
