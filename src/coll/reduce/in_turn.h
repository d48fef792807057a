// SPDX-License-Identifier: BSD-3-Clause
// Reduce_scatter, where the results of some members replace their operands. A member's result comes
// to the beginning of its vector. There lie its operands of the first parts, which others read. So
// each member folds its own part alone, in pieces from the first on, and says how many it has done.
// It writes a piece when those that read what lies there are through with that. They are members
// before it, as a result does not reach behind its own operands. So nobody waits for ever.
//
// Cost: nothing is copied. The first member waits for nobody, the others are a piece behind it.
#pragma once

#include <algorithm>

#include "coll/fold.h"

namespace tutti::coll::reduction::detail {

// The size of a piece. Even small parts are cut, as all others are a piece behind the first member.
constexpr std::size_t turn_bytes(std::size_t longest, bool mapped) {
  const std::size_t least = mapped ? limits::fold_block_bytes : 4 * limits::fold_block_bytes;
  const std::size_t most = mapped ? 8 * limits::fold_block_bytes : 16 * limits::fold_block_bytes;
  return std::clamp(longest / 16, least, most);
}

// After open_share(step) and posts of all. `replaces`: this member's result is in place.
// fold(begin, count) does some of its part, in elements of the vector.
template <Fabric F, class Fold>
Task fold_in_turn(F& f, Step step, const Work& work, std::size_t piece, bool replaces, Fold fold) {
  const Slice mine = work.parts[static_cast<std::size_t>(f.rank())];
  f.begin_work();
  std::uint32_t pieces = 0;
  for (std::size_t done = 0; done < mine.count; done += piece) {
    const std::size_t count = std::min(piece, mine.count - done), end = done + count;
    for (int q = 0; replaces && q < f.rank(); ++q) {
      const Slice& read = work.parts[static_cast<std::size_t>(q)];
      if (read.begin >= end) break;
      if (read.begin + read.count <= done) continue;
      const std::size_t before = std::min(end - read.begin, read.count);
      co_await f.produced(q, step, static_cast<std::uint32_t>(divide_up(before, piece)));
    }
    fold(mine.begin + done, count);
    f.produce(step, ++pieces);
    co_await f.pause(count * work.element_bytes);
  }
  f.finish(step);
  co_await f.drained(step);
  f.end_work();
}

}  // namespace tutti::coll::reduction::detail
