// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "coll/bcast/direct.h"
#include "coll/bcast/line.h"

namespace tutti::coll::bcast {

// The root fills a piece while the receivers empty another, of this call or of the one before: it
// waits for nobody. On one core they do so one after the other.
inline double staged_ns(const Facts& x, const Costs& c) {
  const auto bytes = static_cast<double>(x.bytes);
  const std::size_t pieces = std::max(std::size_t{1}, divide_up(x.bytes, piece_bytes(x.bytes)));
  return choice::flags_ns(c, static_cast<int>(pieces), 0) +
         (c.shares_cores() ? choice::slots_ns(c, bytes, x.ranks - 1)
                           : choice::piped_slots_ns(c, bytes, x.ranks - 1));
}
// The root does a part of each receiver's work, where there is more than a chunk of it. Meanwhile
// it sees who has come and who is done. It alone waits for all others, a quarter of a turn: with 4
// ranks on 2 cores both ways take as long at 12 KiB where the cores' caches are shared with other
// work, and at 64 KiB where they are not.
inline double direct_ns(const Facts& x, const Costs& c) {
  if (x.bytes < limits::shared_bytes) return choice::meeting_ns(c, x.ranks - 1) + staged_ns(x, c);
  const auto chunk = static_cast<double>(chunk_of(x.bytes, limits::mapped_chunk_bytes));
  const auto bytes = static_cast<double>(x.bytes);
  const double part = std::max(std::min(chunk, bytes), bytes * (1 - 1.0 / x.ranks));
  const double seen = choice::flags_ns(c, x.ranks - 1, 0) - c.flag_ns;
  return 2 * c.flag_ns + c.turn_ns() / 4 + std::max(choice::copies_ns(c, part), seen);
}

template <Fabric F>
inline constexpr Row<F> rows[] = {
    {{"line", "the payload rides in the root's flag", Needs::line,
      [](const Facts& x, const Costs& c) { return choice::flags_ns(c, 1, x.bytes); }},
     line<F>},
    {{"staged", "through the root's slots in the segment", Needs::nothing, staged_ns}, staged<F>},
    {{"direct", "between the users' buffers, the root helping", Needs::nothing, direct_ns},
     direct<F>},
};

}  // namespace tutti::coll::bcast
