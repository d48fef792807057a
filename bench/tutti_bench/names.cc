// SPDX-License-Identifier: BSD-3-Clause
#include "tutti_bench/names.h"

#include <cstdlib>
#include <cstring>

namespace tutti::bench {
namespace {

template <class Rows>
const auto& named(const Rows& rows, const char* name) {
  for (const auto& row : rows)
    if (std::strcmp(row.name, name) == 0) return row;
  std::abort();  // names.h and handles.cc disagree
}

}  // namespace

const mpi::DatatypeRow& TypeName::row() const { return named(mpi::datatype_rows(), mpi_name); }
const mpi::OpRow& OpName::row() const { return named(mpi::op_rows(), mpi_name); }

}  // namespace tutti::bench
