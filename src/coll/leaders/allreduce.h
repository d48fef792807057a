// SPDX-License-Identifier: BSD-3-Clause
// Allreduce over nodes. Small: each node's Reduce, recursive doubling of the leaders, each node's
// Bcast. Large: a ring of the leaders, in which each sums up one slice and then passes it round.
// While a slice is on its way, the node's members fold the next one, or get the last one.
#pragma once

#include <bit>

#include "coll/leaders/leaders.h"

namespace tutti::coll::leaders {

// On leaders: `sum` becomes that of all leaders.
template <Fabric F, Wire W>
Task double_up(Members<F, W>& all, const Work& work, std::byte* sum) {
  const int me = all.map.node(), nodes = all.map.nodes();
  const int core = static_cast<int>(std::bit_floor(static_cast<unsigned>(nodes)));
  const int pairs = nodes - core;  // the first nodes meet in pairs, so that `core` are left
  const std::size_t bytes = work.bytes();
  std::byte* const heard = all.wire.scratch(bytes);
  const bool paired = me < 2 * pairs;
  if (paired && me % 2 == 1) {
    const int partner = all.map.leader(me - 1);
    (void)all.wire.send(partner, sum, bytes);
    co_await all.wire.done(all.wire.receive(partner, heard, bytes));
    reduce::copy(sum, heard, bytes);
    co_return;
  }
  if (paired) {
    co_await all.wire.done(all.wire.receive(all.map.leader(me + 1), heard, bytes));
    work.kernel->apply(sum, sum, heard, work.count, work.stores);
  }
  const int mine = paired ? me / 2 : me - pairs;
  for (int distance = 1; distance < core; distance *= 2) {
    const int theirs = mine ^ distance;
    const int partner = all.map.leader(theirs < pairs ? 2 * theirs : theirs + pairs);
    (void)all.wire.send(partner, sum, bytes);
    co_await all.wire.done(all.wire.receive(partner, heard, bytes));
    const std::byte* const left = theirs < mine ? heard : sum;
    work.kernel->apply(sum, left, theirs < mine ? sum : heard, work.count, work.stores);
  }
  if (paired) co_await all.wire.done(all.wire.send(all.map.leader(me + 1), sum, bytes));
}

template <Fabric F, Wire W>
Task small_allreduce(Members<F, W>& all, const Work& work) {
  auto* const sum = static_cast<std::byte*>(work.recv);
  co_await reduce_on_node(all, work, {0, work.count}, sum);
  if (all.leads()) co_await double_up(all, work, sum);
  co_await bcast_on_node(all, sum, work.bytes());
}

// Elements [part.begin, part.begin + part.count). `heard` has room for the largest slice.
template <Fabric F, Wire W>
Task go_round(Members<F, W>& all, const Work& work, Slice part, std::byte* heard) {
  const int me = all.map.node(), nodes = all.map.nodes();
  const std::size_t element = work.element_bytes;
  auto* const sums = static_cast<std::byte*>(work.recv) + part.begin * element;
  const int next = all.map.leader((me + 1) % nodes);
  const int previous = all.map.leader((me + nodes - 1) % nodes);
  // The one that is `back` nodes before this one's.
  const auto slice = [&](int back) {
    const int index = (me + 2 * nodes - back) % nodes;
    return slice_of(part.count, static_cast<std::size_t>(nodes), static_cast<std::size_t>(index));
  };
  const auto fold_on_node = [&](Slice here) {
    return reduce_on_node(all, work, {part.begin + here.begin, here.count},
                          sums + here.begin * element);
  };
  Slice mine = slice(0);
  if (mine.count > 0) co_await fold_on_node(mine);
  for (int step = 1; step < nodes; ++step) {
    const Slice behind = slice(step);
    Ticket ticket = 0;
    if (all.leads()) {
      (void)all.wire.send(next, sums + mine.begin * element, mine.count * element);
      ticket = all.wire.receive(previous, heard, behind.count * element);
    }
    if (behind.count > 0) co_await fold_on_node(behind);
    if (all.leads()) {
      co_await all.wire.done(ticket);
      std::byte* const sum = sums + behind.begin * element;
      work.kernel->apply(sum, heard, sum, behind.count, work.stores);
    }
    mine = behind;
  }
  // `mine` is whole now; the others come round.
  for (int step = 0; step < nodes; ++step) {
    const Slice behind = slice(step);
    Ticket ticket = 0;
    if (all.leads() && step + 1 < nodes) {
      (void)all.wire.send(next, sums + mine.begin * element, mine.count * element);
      ticket = all.wire.receive(previous, sums + behind.begin * element, behind.count * element);
    }
    if (mine.count > 0)
      co_await bcast_on_node(all, sums + mine.begin * element, mine.count * element);
    if (all.leads()) co_await all.wire.done(ticket);
    mine = behind;
  }
}

template <Fabric F, Wire W>
Task large_allreduce(Members<F, W>& all, const Work& work) {
  const auto nodes = static_cast<std::size_t>(all.map.nodes());
  const std::size_t element = work.element_bytes;
  // A slice is at most a piece, so that scratch is no longer than that.
  const std::size_t most =
      nodes * std::max<std::size_t>(64, limits::most_ring_slice_bytes / element / 64 * 64);
  std::byte* heard = nullptr;
  if (all.leads())
    heard = all.wire.scratch(slice_of(std::min(most, work.count), nodes, 0).count * element);
  for (std::size_t begin = 0; begin < work.count; begin += most)
    co_await go_round(all, work, {begin, std::min(most, work.count - begin)}, heard);
}

template <Fabric F, Wire W>
Task allreduce(Members<F, W>& all, const Work& work) {
  const auto nodes = static_cast<std::size_t>(all.map.nodes());
  return work.bytes() / nodes > limits::least_ring_slice_bytes ? large_allreduce(all, work)
                                                               : small_allreduce(all, work);
}

}  // namespace tutti::coll::leaders
