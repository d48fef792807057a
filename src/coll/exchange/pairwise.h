// SPDX-License-Identifier: BSD-3-Clause
// Streams where some blocks are in place. A piece comes to its place when the one that lay there is
// in the slot. In each round everyone has one partner at most, and what the two have for each other
// passes in large pieces. Where blocks are short, a step does several rounds.
#pragma once

#include <vector>

#include "coll/exchange/streamed.h"

namespace tutti::coll::exchange {

// A step fills half of the slots, while others still read the other half.
inline constexpr std::size_t half_slots = segment::slots / 2;
inline constexpr std::size_t half_bytes = half_slots * segment::staging_bytes;

// Runs all streams that `streams` knows of. All members know `longest`. `before` is the step
// before, which this finishes, like the steps of its own.
template <Fabric F>
Task pairwise(F& f, const Outgoing<F>& mine, const Streams<F>& streams, Step before,
              std::size_t longest) {
  const int ranks = f.size(), me = f.rank();
  const auto at = [](int q) { return static_cast<std::size_t>(q); };
  const auto partner = [=](int round) { return (round - me + ranks) % ranks; };  // of each other
  const std::size_t piece = std::min(half_bytes, round_up(longest, line_bytes));
  const int together = static_cast<int>(half_bytes / piece);
  std::vector<Block> from(at(ranks)), to(at(ranks));
  bool sends = streams.sends();
  for (int q = 0; sends && q < ranks; ++q)
    if (q != me) to[at(q)] = mine.to(q);
  for (const Source& source : streams.sources()) {
    from[at(source.peer)] = source.into;
    if (source.in_exchange) to[at(source.peer)] = mine.to(source.peer);
    sends = sends || source.in_exchange;
  }
  f.finish(before);
  for (int first = 0; first < ranks; first += together) {
    const int last = std::min(ranks, first + together);
    for (std::size_t begin = 0; begin < longest; begin += piece) {
      const Step step = f.next_step();
      const auto place = [&](int owner, int round) {
        return f.staging(owner, step % 2 * half_slots) + at(round - first) * piece;
      };
      if (sends) {
        co_await f.drained(std::max(before, step - 2));
        // staging() is to be called for each slot that is written, as it notes that.
        for (std::size_t slot = 0; slot * segment::staging_bytes < at(last - first) * piece; ++slot)
          (void)f.staging(me, step % 2 * half_slots + slot);
        for (int round = first; round < last; ++round) {
          const Block& block = to[at(partner(round))];
          if (begin < block.bytes)
            pack(place(me, round), block, begin, std::min(piece, block.bytes - begin));
        }
        f.post(step, {});
      }
      for (int round = first; round < last; ++round) {
        const int q = partner(round);
        const Block& block = from[at(q)];
        if (begin >= block.bytes) continue;
        co_await f.posted(q, step);
        const std::size_t bytes = std::min(piece, block.bytes - begin);
        unpack(block, begin, place(q, round), bytes);
        hand_back(f, place(q, round), bytes);
      }
      f.finish(step);
    }
  }
  if (sends) co_await f.drained(f.last_step());  // later steps wait for the room of one slot only
}

}  // namespace tutti::coll::exchange
