// SPDX-License-Identifier: BSD-3-Clause
// Reduce_scatter of a vector that rides in the flag's own line: everyone folds its part of what it
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
    LineBuffer buffer;
    std::byte* const sum = buffer.bytes;
    for (int q = f.size() - 1; q >= 0; --q) {
      const auto* operand = static_cast<const std::byte*>(work.send);
      if (q != f.rank()) operand = co_await f.posted(q, step);
      if (q == f.size() - 1)
        reduce::copy(sum, operand + begin, mine.count * work.element_bytes);
      else
        work.kernel->apply(sum, operand + begin, sum, mine.count, Stores::plain);
    }
    reduce::copy(work.recv, sum, mine.count * work.element_bytes);
    f.everyone_arrived();
  }
  f.finish(step);
}

}  // namespace tutti::coll::reduce_scatter
