// SPDX-License-Identifier: BSD-3-Clause
// Late reductions of operands that ride in the flag's own line. They are like the line algorithms
// of the other reductions. But members that want a result keep what they read, to be folded later.
#pragma once

#include "coll/late/gathered.h"
#include "coll/scan/line.h"

namespace tutti::coll::late {

// Keeps elements [mine.begin, mine.begin + mine.count) of each of the first `operands` members.
template <Fabric F>
Task keep_posted(F& f, const Work& work, bool gives, int operands, Slice mine) {
  const Step step = f.next_step();
  f.take(Route::line);
  if (gives) {
    co_await f.room(step);
    f.post(step, {static_cast<const std::byte*>(work.send), work.bytes()});
  }
  if (operands > 0) {
    const std::size_t begin = mine.begin * work.element_bytes;
    const std::size_t bytes = mine.count * work.element_bytes;
    work.operands->make(f.size(), f.rank(), bytes);
    for (int q = 0; q < operands; ++q)
      if (q != f.rank())
        std::memcpy(work.operands->of(q), co_await f.posted(q, step) + begin, bytes);
    if (operands == f.size()) f.everyone_arrived();
  }
  f.finish(step);
}

template <Fabric F>
Task line_to(F& f, const Work& work, int root) {
  const bool gets = reduction::detail::wants_result(f, root);
  const auto me = static_cast<std::size_t>(f.rank());
  const Slice mine = root == each_owner ? work.parts[me] : Slice{0, work.count};
  return keep_posted(f, work, root < 0 || !gets, gets && mine.count > 0 ? f.size() : 0, mine);
}

template <Fabric F, scan::Kind kind>
Task line_of_scan(F& f, const Work& work) {
  const int before = f.rank();
  const bool gets = kind == scan::Kind::inclusive || before > 0;
  return keep_posted(f, work, before < f.size() - 1, gets ? std::max(before, 1) : 0,
                     {0, work.count});
}

}  // namespace tutti::coll::late
