// SPDX-License-Identifier: BSD-3-Clause
// What reductions cost, whoever gets the result.
#pragma once

#include "coll/coll.h"

namespace tutti::coll::reduction {

// Everyone reads the operands of all others.
inline double line_ns(const Facts& x, const Costs& c) {
  return choice::posts_ns(c, x.ranks - 1, x.bytes);
}
// The same through slots. Of small vectors everyone reads all operands, each of which its owner has
// stored. Of larger ones everyone reads a slice, and then all sums, which others have stored.
inline double staged_ns(const Facts& x, const Costs& c) {
  const auto bytes = static_cast<double>(x.bytes);
  const double posts = choice::posts_ns(c, x.ranks - 1, 0);
  if (x.bytes > limits::whole_bytes) return 2 * posts + choice::slots_ns(c, 2 * bytes, x.ranks - 1);
  return posts + choice::slots_ns(c, bytes, x.ranks - 1) +
         choice::copies_ns(c, bytes * (x.ranks - 2));
}
// Each member reads a slice of all operands and writes it into all results.
inline double direct_ns(const Facts& x, const Costs& c) {
  if (x.bytes < limits::shared_bytes) return choice::meeting_ns(c, x.ranks - 1) + staged_ns(x, c);
  const double others = x.ranks - 1;
  return choice::meeting_ns(c, x.ranks - 1) +
         choice::copies_ns(c, 2 * others / x.ranks * static_cast<double>(x.bytes));
}

}  // namespace tutti::coll::reduction
