// SPDX-License-Identifier: BSD-3-Clause
// Scatter down a binomial tree that is split between executors (Denis et al. 2019, section 6.2).
// The blocks of all ranks below an edge go down it, so their size halves from level to level.
//
// Needs blocks of one size, and memory that peers can reach. Cost: as Gather's, turned round.
#pragma once

#include "coll/exchange/header.h"
#include "coll/scatter/exchange.h"
#include "coll/tree/meeting.h"

namespace tutti::coll::tree {
namespace detail {

// Whether all blocks follow each other without gaps, so that they can be lent as they are.
inline bool is_one_piece(std::span<const Block> blocks, std::size_t each) {
  for (std::size_t q = 0; q < blocks.size(); ++q)
    if (blocks[q].layout != nullptr || blocks[q].address != blocks[0].address + q * each)
      return false;
  return true;
}

}  // namespace detail

template <Fabric F>
Task scatter(F& f, const Work& work) {
  const int me = f.rank();
  const Shape shape(f.size(), work.root);
  const Range held = shape.held(me);
  const int children = shape.children(me);
  const std::size_t each = work.bytes();
  const auto size_of = [&](int ranks) { return static_cast<std::size_t>(ranks) * each; };
  const bool is_root = me == work.root;
  const bool as_it_is = is_root && detail::is_one_piece(work.out, each);
  co_await f.on(Executor::progress);
  Meeting<F> meeting(f, limits::bounce_bytes + (as_it_is ? 0 : size_of(held.count)));
  const Step step = meeting.step();
  std::byte* const bounce = meeting.scratch();
  std::byte* const blocks =  // of the ranks in `held`
      as_it_is ? work.out[0].address : bounce + limits::bounce_bytes;
  co_await meeting.exchange(children > 0 ? blocks : nullptr, size_of(held.count));
  if (!meeting.reachable()) {
    f.finish(step);
    co_await coll::scatter::scatter(f, work);
    co_return;
  }
  f.begin_work();
  if (is_root) {
    if (!as_it_is) {
      for (int q = 0; q < f.size(); ++q)
        pack(blocks + size_of(q), work.out[static_cast<std::size_t>(q)], 0, each);
      co_await f.pause(size_of(f.size()));
    }
    f.produce(step, 1);
    if (!work.in.empty()) {
      exchange::keep(
          f, work.in[0], work.out[static_cast<std::size_t>(me)], [=] { return bounce; },
          work.stores);
      co_await f.pause(each);
    }
  } else {
    const int level = shape.top(me), parent = shape.edge(me, level).peer;
    const std::size_t begin = size_of(held.first - shape.held(parent).first);
    co_await f.on(executor_of(work, level));
    co_await f.produced(parent, step, 1);
    const auto take = [&](const std::byte* from, std::size_t bytes, std::size_t offset) {
      if (children == 0)
        unpack(work.in[0], offset, from, bytes, work.stores);
      else
        reduce::copy(blocks + offset, from, bytes);
    };
    meeting.read(parent, begin, size_of(held.count), 1, take);
    co_await f.pause(size_of(held.count));
    f.land(parent, step);
    f.produce(step, 1);
    if (children > 0) {
      unpack(work.in[0], 0, blocks, each, work.stores);
      co_await f.pause(each);
    }
  }
  co_await f.on(Executor::either);
  co_await f.landed(me, step, static_cast<std::uint32_t>(children));
  f.end_work();
  f.finish(step);
}

}  // namespace tutti::coll::tree
