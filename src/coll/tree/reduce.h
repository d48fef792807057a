// SPDX-License-Identifier: BSD-3-Clause
// Reduce up a binomial tree that is split between executors (Denis et al. 2019). The ranks do the
// lowest work.levels levels, in the call; progress threads do the rest. Halves are combined in the
// order of the ranks, (r0 op r1) op (r2 op r3). So the bits depend on the number of ranks alone.
// Where that is no power of two they are not those of the blocking algorithms.
//
// Needs an associative operation, and memory that peers can reach. Cost: ceil(log2 P) folds of all
// bytes one after the other, P - 1 in all, and room for a vector on members that fold for others.
#pragma once

#include "coll/reduce/staged.h"
#include "coll/tree/meeting.h"

namespace tutti::coll::tree {
namespace detail {

// sum = the two halves' operands, in the order of the ranks. `mine` may be `sum`.
template <Fabric F>
void combine(Meeting<F>& meeting, const Work& work, int me, int peer, const std::byte* mine,
             std::byte* sum) {
  const std::size_t element = work.element_bytes;
  meeting.read(peer, 0, work.bytes(), element,
               [&](const std::byte* theirs, std::size_t bytes, std::size_t offset) {
                 const std::byte* own = mine + offset;
                 work.kernel->apply(sum + offset, me < peer ? own : theirs,
                                    me < peer ? theirs : own, bytes / element, Stores::plain);
               });
}

}  // namespace detail

template <Fabric F>
Task reduce(F& f, const Work& work) {
  const int me = f.rank();
  const Shape shape(f.size(), work.root);
  const bool is_root = me == work.root, is_leaf = shape.children(me) == 0;
  co_await f.on(executor_of(work, 1));
  Meeting<F> meeting(f, is_root || is_leaf ? 0 : work.bytes());
  const Step step = meeting.step();
  std::byte* const sum = is_root ? static_cast<std::byte*>(work.recv) : meeting.scratch();
  const auto* mine = static_cast<const std::byte*>(work.send);
  co_await meeting.exchange(is_root ? nullptr : is_leaf ? mine : sum, work.bytes());
  if (!meeting.reachable()) {
    f.finish(step);
    co_await reduction::staged(f, work);
    co_return;
  }
  f.begin_work();
  for (int level = 1; level < shape.top(me); ++level) {
    const Edge edge = shape.edge(me, level);
    if (!edge.exists()) continue;
    co_await f.on(executor_of(work, level));
    co_await f.produced(edge.peer, step, 1);
    detail::combine(meeting, work, me, edge.peer, mine, sum);
    co_await f.pause(work.bytes());
    f.land(edge.peer, step);
    mine = sum;
  }
  if (is_root && mine != sum) reduce::copy(sum, mine, work.bytes());  // alone
  if (!is_root) {
    f.produce(step, 1);
    co_await f.on(Executor::either);
    co_await f.landed(me, step, 1);
  }
  f.end_work();
  f.finish(step);
}

}  // namespace tutti::coll::tree
