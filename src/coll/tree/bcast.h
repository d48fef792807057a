// SPDX-License-Identifier: BSD-3-Clause
// Bcast down a binomial tree that is split between executors (Denis et al. 2019). Progress threads
// do the upper part. The ranks do the lowest work.levels levels, while they wait for it. Receivers
// read, so that a member can serve all below it at once.
//
// Needs memory that peers can reach. Cost: at most ceil(log2 P) copies one after the other, P - 1
// in all.
#pragma once

#include "coll/bcast/staged.h"
#include "coll/tree/meeting.h"

namespace tutti::coll::tree {

template <Fabric F>
Task bcast(F& f, const Work& work) {
  const int me = f.rank();
  const Shape shape(f.size(), work.root);
  const int children = shape.children(me);
  auto* const mine = static_cast<std::byte*>(work.recv);
  co_await f.on(Executor::progress);
  Meeting<F> meeting(f, 0);
  const Step step = meeting.step();
  co_await meeting.exchange(children > 0 ? mine : nullptr, work.bytes());
  if (!meeting.reachable()) {
    f.finish(step);
    co_await coll::bcast::staged(f, work);
    co_return;
  }
  f.begin_work();
  if (me != work.root) {
    const int level = shape.top(me), parent = shape.edge(me, level).peer;
    co_await f.on(executor_of(work, level));
    co_await f.produced(parent, step, 1);
    meeting.read(parent, 0, work.bytes(), 1,
                 [&](const std::byte* theirs, std::size_t bytes, std::size_t offset) {
                   tutti::reduce::copy(mine + offset, theirs, bytes, work.stores);
                 });
    co_await f.pause(work.bytes());
    f.land(parent, step);
  }
  f.produce(step, 1);
  co_await f.on(Executor::either);
  co_await f.landed(me, step, static_cast<std::uint32_t>(children));
  f.end_work();
  f.finish(step);
}

}  // namespace tutti::coll::tree
