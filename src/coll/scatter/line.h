// SPDX-License-Identifier: BSD-3-Clause
// Scatter of blocks that ride in the root's line, all of them: the root does not wait, but for
// room.
#pragma once

#include "coll/coll.h"

namespace tutti::coll::scatter {

template <Fabric F>
Task line(F& f, const Work& work) {
  const Step step = f.next_step();
  f.take(Route::line);
  const auto me = static_cast<std::size_t>(f.rank());
  if (f.rank() == work.root) {
    co_await f.room(step);
    std::byte blocks[segment::payload_bytes];
    const std::size_t each = work.out[0].bytes;
    for (std::size_t q = 0; q < work.out.size(); ++q) pack(blocks + q * each, work.out[q], 0, each);
    f.post(step, {blocks, each * work.out.size()});
    if (!work.in.empty()) unpack(work.in[0], 0, blocks + me * each, each);
  } else {
    const std::byte* blocks = co_await f.posted(work.root, step);
    f.expect(work.root, step + 1);  // in a row of scatters the root is ahead
    const std::size_t each = work.in[0].bytes;
    unpack(work.in[0], 0, blocks + me * each, each);
  }
  f.finish(step);
}

}  // namespace tutti::coll::scatter
