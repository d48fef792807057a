// SPDX-License-Identifier: BSD-3-Clause
// What reductions cost, whoever gets the result.
#pragma once

#include "coll/coll.h"

namespace tutti::coll::reduction {

// Everyone reads the operands of all others.
inline double line_ns(const Facts& x, const Costs& c) {
  return choice::posts_ns(c, x.ranks - 1, x.bytes);
}
// The same through slots: one is filled, and all others are read.
inline double staged_ns(const Facts& x, const Costs& c) {
  const std::size_t passes = static_cast<std::size_t>(x.ranks);
  return choice::posts_ns(c, x.ranks - 1, 0) + choice::slots_ns(c, x.bytes * passes / 2);
}
// Each member reads a slice of all operands and writes it into all results.
inline double direct_ns(const Facts& x, const Costs& c) {
  if (x.bytes < limits::shared_bytes) return choice::meeting_ns(c, x.ranks - 1) + staged_ns(x, c);
  const double others = x.ranks - 1;
  return choice::meeting_ns(c, x.ranks - 1) +
         choice::copies_ns(c, 2 * others / x.ranks * static_cast<double>(x.bytes));
}

}  // namespace tutti::coll::reduction
