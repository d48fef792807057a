// SPDX-License-Identifier: BSD-3-Clause
// Reduce of a payload that rides in the flag's own line: everyone posts, the root folds what it
// reads. The others do not wait, but for room.
#pragma once

#include "coll/fold.h"

namespace tutti::coll::reduction {

template <Fabric F>
Task line(F& f, const Work& work) {
  const Step step = f.next_step();
  f.take(Route::line);
  if (f.rank() != work.root) {
    co_await f.room(step);
    f.post(step, {static_cast<const std::byte*>(work.send), work.bytes()});
  } else {
    // Folded from the last member down, each as it arrives.
    alignas(64) std::byte sum[segment::payload_bytes];
    for (int q = f.size() - 1; q >= 0; --q) {
      const void* operand = work.send;
      if (q != f.rank()) {
        operand = co_await f.posted(q, step);
        f.expect(q, step + 2);  // in a row of reductions the others are ahead
      }
      if (q == f.size() - 1)
        std::memcpy(sum, operand, work.bytes());
      else
        work.kernel->apply(sum, operand, sum, work.count, Stores::plain);
    }
    std::memcpy(work.recv, sum, work.bytes());
    f.everyone_arrived();
  }
  f.finish(step);
}

}  // namespace tutti::coll::reduction
