// SPDX-License-Identifier: BSD-3-Clause
// Gather up a binomial tree that is split between executors (Denis et al. 2019, section 6.2). The
// blocks of all ranks below an edge go up it, so their size doubles from level to level.
//
// Needs blocks of one size, and memory that peers can reach. Cost: P - 1 blocks into the root, and
// as many packed on the way at each level; room for the blocks below on members in between.
#pragma once

#include "coll/exchange/header.h"
#include "coll/gather/exchange.h"
#include "coll/tree/meeting.h"

namespace tutti::coll::tree {

template <Fabric F>
Task gather(F& f, const Work& work) {
  const int me = f.rank();
  const Shape shape(f.size(), work.root);
  const Range held = shape.held(me);
  const std::size_t each = work.bytes();
  const auto size_of = [&](int ranks) { return static_cast<std::size_t>(ranks) * each; };
  const bool is_root = me == work.root;
  // A leaf lends its block where it lies, unless it has gaps.
  const bool as_it_is = !is_root && held.count == 1 && work.out[0].layout == nullptr;
  co_await f.on(executor_of(work, 1));
  Meeting<F> meeting(f, is_root || as_it_is ? limits::bounce_bytes : size_of(held.count));
  const Step step = meeting.step();
  std::byte* const blocks = meeting.scratch();  // of the ranks in `held`
  co_await meeting.exchange(is_root    ? nullptr
                            : as_it_is ? work.out[0].address
                                       : blocks,
                            size_of(held.count));
  if (!meeting.reachable()) {
    f.finish(step);
    co_await coll::gather::gather(f, work);
    co_return;
  }
  f.begin_work();
  if (is_root) {
    const Block& own = work.in[static_cast<std::size_t>(me)];
    if (!work.out.empty()) {
      exchange::keep(
          f, own, work.out[0], [=] { return blocks; }, work.stores);
      co_await f.pause(each);
    }
  } else if (!as_it_is) {
    pack(blocks, work.out[0], 0, each);
    co_await f.pause(each);
  }
  for (int level = 1; level < shape.top(me); ++level) {
    const Edge edge = shape.edge(me, level);
    if (!edge.exists()) continue;
    const Range theirs = shape.held(edge.peer);
    co_await f.on(executor_of(work, level));
    co_await f.produced(edge.peer, step, 1);
    for (int q = theirs.first; q < theirs.first + theirs.count; ++q) {
      const auto take = [&](const std::byte* from, std::size_t bytes, std::size_t offset) {
        if (is_root)
          unpack(work.in[static_cast<std::size_t>(q)], offset, from, bytes, work.stores);
        else
          reduce::copy(blocks + size_of(q - held.first) + offset, from, bytes);
      };
      meeting.read(edge.peer, size_of(q - theirs.first), each, 1, take);
    }
    co_await f.pause(size_of(theirs.count));
    f.land(edge.peer, step);
  }
  if (!is_root) {
    f.produce(step, 1);
    co_await f.on(Executor::either);
    co_await f.landed(me, step, 1);
  }
  f.end_work();
  f.finish(step);
}

}  // namespace tutti::coll::tree
