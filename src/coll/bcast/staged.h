// SPDX-License-Identifier: BSD-3-Clause
// Bcast through the root's staging slots, a piece a step. The root fills slots while the others
// drain earlier ones. It is at most as many pieces ahead of the slowest as there are slots.
#pragma once

#include "coll/coll.h"

namespace tutti::coll::bcast {

constexpr std::size_t piece_bytes(std::size_t whole) {
  return piece_of(whole, limits::least_bcast_piece_bytes, limits::most_bcast_piece_bytes);
}

template <Fabric F>
Task staged(F& f, const Work& work) {
  auto* buffer = static_cast<std::byte*>(work.recv);
  Step step = 0;
  f.take(Route::staged);
  const std::size_t each = piece_bytes(work.bytes());
  for (std::size_t done = 0; done < work.bytes(); done += each) {
    const std::size_t piece = std::min(each, work.bytes() - done);
    step = f.next_step();
    if (f.rank() == work.root) {
      co_await f.staging_room(step);
      reduce::copy(f.staging(work.root, step), buffer + done, piece);
      f.post(step, {});
      f.reserve(step + 1, piece);
    } else {
      co_await f.posted(work.root, step);
      reduce::copy(buffer + done, f.staging(work.root, step), piece);
      if (f.size() == 2) hand_back(f, f.staging(work.root, step), piece);
    }
    f.finish(step);  // after each piece, so that the root may go on
  }
}

}  // namespace tutti::coll::bcast
