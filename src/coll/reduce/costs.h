// SPDX-License-Identifier: BSD-3-Clause
// What reductions cost. Of those that several collectives share, `root` says who gets the result.
#pragma once

#include <limits>

#include "coll/coll.h"

namespace tutti::coll::reduction {

// Values of `root` that say who wants the result.
inline constexpr int everyone = -1;
inline constexpr int each_owner = -2;  // each member wants its part: Reduce_scatter

// Everyone reads the operands of all others.
inline double line_ns(const Facts& x, const Costs& c) {
  return choice::posts_ns(c, x.ranks - 1, x.bytes);
}

// The bytes that a member has, or gets, of all slices but its own.
inline double bytes_of_others(const Facts& x) {
  return static_cast<double>(x.bytes) * (x.ranks - 1) / x.ranks;
}
// Who has filled this many slots waits for their readers. That is a turn for each further lot.
inline double refills_ns(const Facts& x, const Costs& c, double slots) {
  const double lots = static_cast<double>(x.bytes) / (slots * segment::staging_bytes);
  return c.turn_ns() * std::max(0.0, lots - 1);
}

// Through slots. Those who want the result read all operands, each of which its owner has stored.
inline double whole_ns(const Facts& x, const Costs& c, int root) {
  const auto bytes = static_cast<double>(x.bytes);
  double folded = bytes * (x.ranks - 2);
  if (root != everyone) folded /= c.sharers;  // the others on that core do nothing meanwhile
  return choice::posts_ns(c, x.ranks - 1, 0) +
         choice::slots_ns(c, bytes, root == everyone ? x.ranks - 1 : 1) +
         choice::copies_ns(c, folded) + refills_ns(x, c, segment::slots / 2);
}
// Through slots, in two steps. Everyone reads its slice of all operands, and stores their sum for
// all who want it; and then reads the other sums.
inline double sliced_ns(const Facts& x, const Costs& c) {
  return 2 * (choice::posts_ns(c, x.ranks - 1, 0) + choice::slots_ns(c, 0, x.ranks - 1)) +
         c.passed_ns() * bytes_of_others(x) / 1024 + 2 * refills_ns(x, c, 2);
}
// Which of the two; the same on all members. A pair with a root has nobody who could fold a slice
// meanwhile.
inline bool is_whole(const Facts& x, const Costs& c, int root) {
  return (x.ranks == 2 && root != everyone) || whole_ns(x, c, root) <= sliced_ns(x, c);
}
// Up to how many bytes that is so, to an eighth.
inline std::size_t most_whole_bytes(int ranks, const Costs& c, int root) {
  constexpr std::size_t last = std::size_t{1} << 30;
  std::size_t most = 0;
  for (std::size_t bytes = line_bytes; bytes < last; bytes += round_up(bytes / 8, line_bytes)) {
    if (!is_whole({ranks, bytes}, c, root)) return most;
    most = bytes;
  }
  return std::numeric_limits<std::size_t>::max();
}
template <int root>
double staged_ns(const Facts& x, const Costs& c) {
  return is_whole(x, c, root) ? whole_ns(x, c, root) : sliced_ns(x, c);
}
// Reduce_scatter: everyone reads its part of all operands. Slots are filled and read part by part,
// which takes longer than in one go.
template <>
inline double staged_ns<each_owner>(const Facts& x, const Costs& c) {
  return choice::posts_ns(c, x.ranks - 1, 0) +
         choice::slots_ns(c, static_cast<double>(x.bytes), x.ranks - 1) +
         choice::copies_ns(c, bytes_of_others(x)) + refills_ns(x, c, segment::slots / 2);
}

// Each member reads a slice of all operands, and writes it into the results of all who want it. (On
// a core that they share it is still in the caches when these read it.) `otherwise`: the estimate
// of what they do where they have met in vain.
template <int root, double (*otherwise)(const Facts&, const Costs&)>
double direct_ns(const Facts& x, const Costs& c) {
  const double meeting = choice::meeting_ns(c, x.ranks - 1);
  if (x.bytes < limits::shared_bytes) return meeting + otherwise(x, c);
  const double kib_ns = root == everyone && !c.shares_cores() ? c.passed_ns() : c.copy_ns;
  return meeting + kib_ns * bytes_of_others(x) / 1024;
}

}  // namespace tutti::coll::reduction
