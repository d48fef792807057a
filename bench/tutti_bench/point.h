// SPDX-License-Identifier: BSD-3-Clause
// Measuring one point: a collective at one size.
#pragma once

#include <string>

#include "tutti_bench/arguments.h"
#include "tutti_bench/collectives.h"
#include "tutti_bench/mpi.h"
#include "tutti_bench/page.h"

namespace tutti::bench {

// Times in microseconds of one call, on the slowest rank. Negative: not measured.
struct Timing {
  double median_us = -1;
  double best_us = -1;
  int calls = 1;  // back to back in a sample, whose time is divided by them
  int samples = 0;
};

struct Row {
  Timing base, tutti;
  Timing limit;  // the better of plain and streaming stores
  bool limit_streams = false;
  std::string way;
};

// Collective; every rank gets the same row. False: `why` says what went wrong, on all ranks alike.
[[nodiscard]] bool measure(const Mpi& mpi, Page& page, const Arguments& arguments,
                           const Collective& collective, std::uint64_t bytes, Row& row,
                           std::string& why);

}  // namespace tutti::bench
