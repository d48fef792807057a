// SPDX-License-Identifier: BSD-3-Clause
// What users write after --dtype and --op, and the rows of the library's own table of handles
// (src/mpi/handles.cc) that they mean.
#pragma once

#include "mpi/handles.h"

namespace tutti::bench {

struct TypeName {
  const char* name;
  const char* mpi_name;
  [[nodiscard]] const mpi::DatatypeRow& row() const;
};

inline constexpr TypeName types[] = {
    {"float", "MPI_FLOAT"},     {"double", "MPI_DOUBLE"},   {"int8", "MPI_INT8_T"},
    {"int16", "MPI_INT16_T"},   {"int32", "MPI_INT32_T"},   {"int64", "MPI_INT64_T"},
    {"uint8", "MPI_UINT8_T"},   {"uint16", "MPI_UINT16_T"}, {"uint32", "MPI_UINT32_T"},
    {"uint64", "MPI_UINT64_T"},
};

struct OpName {
  const char* name;
  const char* mpi_name;
  [[nodiscard]] const mpi::OpRow& row() const;
};

inline constexpr OpName ops[] = {
    {"sum", "MPI_SUM"},   {"prod", "MPI_PROD"}, {"min", "MPI_MIN"},   {"max", "MPI_MAX"},
    {"band", "MPI_BAND"}, {"bor", "MPI_BOR"},   {"bxor", "MPI_BXOR"},
};

}  // namespace tutti::bench
