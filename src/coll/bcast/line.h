// SPDX-License-Identifier: BSD-3-Clause
// Bcast of a payload that rides in the flag's own line: one store by the root, one line read by
// each of the others. The root waits for nothing but room.
#pragma once

#include <cstring>

#include "coll/coll.h"

namespace tutti::coll::bcast {

template <Fabric F>
Task line(F& f, const Work& work) {
  const Step step = f.next_step();
  f.take(Route::line);
  if (f.rank() == work.root) {
    co_await f.room(step);
    f.post(step, {static_cast<const std::byte*>(work.recv), work.bytes()});
  } else {
    const std::byte* payload = co_await f.posted(work.root, step);
    f.expect(work.root, step + 1);  // in a row of broadcasts the root is ahead
    std::memcpy(work.recv, payload, work.bytes());
  }
  f.finish(step);
}

}  // namespace tutti::coll::bcast
