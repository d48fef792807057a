// SPDX-License-Identifier: BSD-3-Clause
// Alltoall of equally long blocks that ride together in their sender's line. One step.
#pragma once

#include "coll/coll.h"

namespace tutti::coll::alltoall {

template <Fabric F>
Task line(F& f, const Work& work) {
  const Step step = f.next_step();
  f.take(Route::line);
  const auto me = static_cast<std::size_t>(f.rank());
  const std::size_t each = work.out[0].bytes;
  std::byte blocks[segment::payload_bytes];
  for (std::size_t q = 0; q < work.out.size(); ++q) pack(blocks + q * each, work.out[q], 0, each);
  co_await f.room(step);
  f.post(step, {blocks, each * work.out.size()});
  unpack(work.in[me], 0, blocks + me * each, each);
  for (int k = 1; k < f.size(); ++k) {
    const int q = (f.rank() + k) % f.size();
    const std::byte* theirs = co_await f.posted(q, step);
    unpack(work.in[static_cast<std::size_t>(q)], 0, theirs + me * each, each);
  }
  f.everyone_arrived();
  f.finish(step);
}

}  // namespace tutti::coll::alltoall
