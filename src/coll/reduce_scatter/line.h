// SPDX-License-Identifier: BSD-3-Clause
// Reduce_scatter of a vector that rides in the flag's own line. Everyone folds its part of what it
// reads. One step.
#pragma once

#include "coll/fold.h"

namespace tutti::coll::reduce_scatter {

template <Fabric F>
Task line(F& f, const Work& work) {
  const Step step = f.next_step();
  f.take(Route::line);
  co_await f.room(step);
  f.post(step, {static_cast<const std::byte*>(work.send), work.bytes()});
  const Slice mine = work.parts[static_cast<std::size_t>(f.rank())];
  if (mine.count > 0) {
    const std::size_t begin = mine.begin * work.element_bytes;
    for (int q = 0; q < f.size(); ++q)
      if (q != f.rank()) co_await f.posted(q, step);
    f.everyone_arrived();
    // In place the result may lie across this member's own operand.
    const auto* own = work.send != work.recv ? static_cast<const std::byte*>(work.send)
                                             : f.payload(f.rank(), step);
    const auto operand = [&](int q) { return (q == f.rank() ? own : f.payload(q, step)) + begin; };
    fold_lines(f, work, operand, work.recv, mine.count);
  }
  f.finish(step);
}

}  // namespace tutti::coll::reduce_scatter
