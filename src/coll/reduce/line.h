// SPDX-License-Identifier: BSD-3-Clause
// Reduce and Allreduce of a payload that rides in the flag's own line: everyone whose operand
// somebody needs posts it, and those who want the result fold what they read. One step. Members
// that want no result do not wait, but for room.
#pragma once

#include <cstring>

#include "coll/reduce/staged.h"

namespace tutti::coll::reduction {

template <Fabric F>
Task line_to(F& f, const Work& work, int root) {
  const Step step = f.next_step();
  f.take(Route::line);
  const bool gets = detail::wants_result(f, root);
  if (root == everyone || !gets) {
    co_await f.room(step);
    f.post(step, {static_cast<const std::byte*>(work.send), work.bytes()});
  }
  if (gets) {
    // Folded from the last member down, each as it arrives.
    LineBuffer buffer;
    std::byte* const sum = buffer.bytes;
    for (int q = f.size() - 1; q >= 0; --q) {
      const void* operand = work.send;
      if (q != f.rank()) {
        operand = co_await f.posted(q, step);
        if (root != everyone) f.expect(q, step + 2);  // in a row of Reduces the others are ahead
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

template <Fabric F>
Task line(F& f, const Work& work) {
  return line_to(f, work, work.root);
}

}  // namespace tutti::coll::reduction
