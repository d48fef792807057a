// SPDX-License-Identifier: BSD-3-Clause
// Reduce and Allreduce of a payload that rides in the flag's own line. A member whose operand
// somebody needs posts it. Members that want the result fold what they read. One step. Members that
// want no result wait for nothing but room.
#pragma once

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
    for (int q = 0; q < f.size(); ++q) {
      if (q == f.rank()) continue;
      co_await f.posted(q, step);
      if (root != everyone) f.expect(q, step + 2);  // in a row of Reduces the others are ahead
    }
    f.everyone_arrived();
    const auto operand = [&](int q) {
      return q == f.rank() ? static_cast<const std::byte*>(work.send) : f.payload(q, step);
    };
    fold_lines(f, work, operand, work.recv, work.count);
  }
  f.finish(step);
}

template <Fabric F>
Task line(F& f, const Work& work) {
  return line_to(f, work, work.root);
}

}  // namespace tutti::coll::reduction
