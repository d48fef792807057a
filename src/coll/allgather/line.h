// SPDX-License-Identifier: BSD-3-Clause
// Allgather of blocks that ride in the flag's own line, also of different sizes, as all members
// know them. One step.
#pragma once

#include "coll/coll.h"

namespace tutti::coll::allgather {

template <Fabric F>
Task line(F& f, const Work& work) {
  const Step step = f.next_step();
  f.take(Route::line);
  const int me = f.rank();
  std::byte block[segment::payload_bytes];
  pack(block, work.out[0], 0, work.out[0].bytes);
  co_await f.room(step);
  f.post(step, {block, work.out[0].bytes});
  const Block& mine = work.in[static_cast<std::size_t>(me)];
  unpack(mine, 0, block, mine.bytes);
  for (int k = 1; k < f.size(); ++k) {
    const int q = (me + k) % f.size();
    const std::byte* theirs = co_await f.posted(q, step);
    const Block& into = work.in[static_cast<std::size_t>(q)];
    unpack(into, 0, theirs, into.bytes);
  }
  f.everyone_arrived();
  f.finish(step);
}

}  // namespace tutti::coll::allgather
