// SPDX-License-Identifier: BSD-3-Clause
// What exchanges cost: each member's blocks are read by the others.
#pragma once

#include "coll/exchange/header.h"

namespace tutti::coll::exchange {

// The blocks of a sender are its only payload.
inline double line_ns(const Facts& x, const Costs& c) {
  return choice::posts_ns(c, x.ranks - 1, x.bytes);
}
// A block for each other member, all of them one payload.
inline double line_of_others_ns(const Facts& x, const Costs& c) {
  return choice::posts_ns(c, x.ranks - 1, x.bytes * static_cast<std::size_t>(x.ranks - 1));
}
// A header says where the blocks are and how they travel: behind it, in a slot, or from where they
// are. `blocks`: how many different ones a member sends.
inline double exchange_ns(const Facts& x, const Costs& c, int blocks) {
  const int others = x.ranks - 1;
  const std::size_t sent = x.bytes * static_cast<std::size_t>(blocks);
  const double read = static_cast<double>(x.bytes) * others;
  const std::size_t posted = sizeof(Header) + (sent <= most_inline ? sent : sizeof(Place));
  double moved = 0;
  if (x.bytes >= c.direct_bytes)
    moved = c.step_ns() + choice::copies_ns(c, read);
  else if (sent > most_inline)
    moved = choice::slots_ns(c, static_cast<double>(sent), blocks > 1 ? 1 : others) +
            choice::copies_ns(c, read - static_cast<double>(x.bytes));
  return choice::posts_ns(c, others, posted) + moved;
}
inline double exchange_of_one_ns(const Facts& x, const Costs& c) { return exchange_ns(x, c, 1); }
inline double exchange_of_all_ns(const Facts& x, const Costs& c) {
  return exchange_ns(x, c, x.ranks - 1);
}

}  // namespace tutti::coll::exchange
