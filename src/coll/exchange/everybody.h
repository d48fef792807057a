// SPDX-License-Identifier: BSD-3-Clause
// Allgather(v) and Alltoall(v, w): everyone has something for everyone. All copy at once, each
// starting with another source (the rotation of Ma et al. 2010), from the sender's own buffer where
// it can be reached. One step, and at the end a look at who has taken what was lent.
//
// Cost: one copy of each block in the receiver, two for small blocks and where nothing is
// reachable.
#pragma once

#include "coll/exchange/streamed.h"

namespace tutti::coll::exchange {

template <Fabric F>
Task everybody(F& f, const Work& work) {
  const Step step = f.next_step();
  Outgoing<F> mine(f, work.out);
  Streams<F> streams(f, work.out.size());
  co_await mine.room(step);
  const Bounce<F> bounce{f, mine.regular_bytes()};
  mine.post(step);
  streams.add(mine);
  const int me = f.rank();
  co_await f.pause(0);
  f.begin_work();
  keep(f, work.in[static_cast<std::size_t>(me)], mine.to(me), bounce, work.stores);
  f.end_work();
  for (int k = 1; k < f.size(); ++k) {
    const int q = (me + k) % f.size();
    const Block& into = work.in[static_cast<std::size_t>(q)];
    Incoming<F> theirs(bounce, q, step, co_await f.posted(q, step));
    if (k == 1) f.begin_work();
    theirs.take(me, into, work.stores, f.size() == 2);
    streams.add(q, theirs, me, into);
  }
  f.everyone_arrived();
  if (streams.empty())
    f.finish(step);
  else
    co_await streams.run();
  if (mine.mode() == Mode::direct) co_await f.drained(step);
  f.end_work();
}

}  // namespace tutti::coll::exchange
