// SPDX-License-Identifier: BSD-3-Clause
// Measuring how much of a nonblocking collective a program can compute through.
#pragma once

#include <cstdint>
#include <string>

#include "tutti_bench/point.h"

namespace tutti::bench {

// Of MPI_X, or of PMPI_X.
struct Overlap {
  Timing blocking;      // the blocking collective
  Timing pure;          // issued and waited for at once
  Timing overlapped;    // issued, computed, waited for
  Timing post;          // the call that issues it
  double percent = -1;  // negative, like the times: not measured
};

struct OverlapRow {
  Overlap base, tutti;
  Timing compute;  // the computation alone; both have the same
  double work;     // its steps, of all ranks together
};

// As measure() of point.h. `work`: steps that the ranks share; 0: as many as fill the time of
// Tutti's blocking collective.
[[nodiscard]] bool measure_overlap(const Mpi& mpi, Page& page, const Arguments& arguments,
                                   const Collective& collective, std::uint64_t bytes,
                                   std::uint64_t work, OverlapRow& row, std::string& why);

}  // namespace tutti::bench
