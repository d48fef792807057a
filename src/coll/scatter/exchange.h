// SPDX-License-Identifier: BSD-3-Clause
// Scatter and Scatterv: the receivers read (Ma et al. 2010), all of them at once, from the root's
// buffer where they can reach it. Small blocks ride in the root's line or slot, and then the root
// goes on at once.
#pragma once

#include "coll/exchange/streamed.h"

namespace tutti::coll::scatter {

template <Fabric F>
Task scatter(F& f, const Work& work) {
  using namespace exchange;
  const Step step = f.next_step();
  const int me = f.rank();
  if (me == work.root) {
    Outgoing<F> mine(f, work.out);
    co_await mine.room(step);
    mine.post(step);
    if (mine.protocol() == Protocol::inlined) {
      if (!work.in.empty()) keep(f, work.in[0], mine.to(me), Bounce<F>{f}, work.stores);
      f.finish(step);
      co_return;
    }
    Streams<F> streams(f, work.out.size());
    streams.add(mine);
    co_await f.pause(0);
    f.begin_work();
    if (!work.in.empty()) {
      keep(f, work.in[0], mine.to(me), Bounce<F>{f, mine.regular_bytes()}, work.stores);
      co_await f.pause(work.in[0].bytes);
    }
    f.end_work();
    if (streams.empty())
      f.finish(step);
    else
      co_await streams.run();
    if (mine.protocol() == Protocol::direct) co_await f.drained(step);
  } else {
    Incoming<F> root(Bounce<F>{f}, work.root, step, co_await f.posted(work.root, step));
    f.expect(work.root, step + 2);  // in a row of scatters the root is ahead
    if (root.protocol() == Protocol::inlined) {
      root.take(me, work.in[0], work.stores, true);
      f.finish(step);
      co_return;
    }
    f.begin_work();
    root.take(me, work.in[0], work.stores, f.size() == 2);
    co_await f.pause(work.in[0].bytes);
    Streams<F> streams(f, static_cast<std::size_t>(f.size()));
    streams.add(work.root, root, me, work.in[0]);
    if (streams.empty())
      f.finish(step);
    else
      co_await streams.run();
    f.end_work();
  }
}

}  // namespace tutti::coll::scatter
