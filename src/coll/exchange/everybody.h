// SPDX-License-Identifier: BSD-3-Clause
// Allgather(v) and Alltoall(v, w): everyone has something for everyone. All copy at once, each
// starting with another source (the rotation of Ma et al. 2010), from the sender's own buffer where
// it can be reached. One step. At the end, members that have lent their buffer wait until all have
// taken their blocks.
//
// Cost: one copy of each block in the receiver, two for small blocks and where nothing is
// reachable. In place: each of two members exchanges half of the two blocks, where both are mapped.
#pragma once

#include "coll/exchange/pairwise.h"
#include "coll/exchange/swap.h"

namespace tutti::coll::exchange {

template <Fabric F>
Task everybody(F& f, const Work& work) {
  const Step step = f.next_step();
  Outgoing<F> mine(f, work.out, work.in_place ? Use::swapped : Use::read);
  Streams<F> streams(f, work.out.size());
  co_await mine.room(step);
  const Bounce<F> bounce{f, mine.regular_bytes()};
  mine.post(step);
  streams.add(mine);
  bool swaps = mine.header().in_place;
  const int me = f.rank();
  co_await f.pause(0);
  f.begin_work();
  keep(f, work.in[static_cast<std::size_t>(me)], mine.to(me), bounce, work.stores);
  f.end_work();
  for (int k = 1; k < f.size(); ++k) {
    const int q = member_after(f, k);
    const Block& into = work.in[static_cast<std::size_t>(q)];
    Incoming<F> theirs(bounce, q, step, co_await f.posted(q, step));
    if (k == 1) f.begin_work();
    swaps = swaps || theirs.header().in_place;
    const Swap swap = swaps ? swap_of(mine.header(), theirs.header()) : Swap::sent;
    if (swap == Swap::sent) [[likely]] {
      theirs.take(me, into, work.stores, f.size() == 2);
      streams.add(q, theirs, me, into);
      continue;
    }
    const std::size_t bytes = std::min(theirs.admitted(me, into), mine.to(q).bytes);
    if (swap == Swap::halves) theirs.trade_half(me, me, into, bytes);
    if (swap == Swap::mine) theirs.trade(me, mine.to(q), into, bytes);
    if (swap == Swap::streamed) streams.add_exchange(q, {into.address, bytes, into.layout});
    co_await f.pause(bytes);
  }
  f.everyone_arrived();
  std::size_t longest = 0;
  if (swaps) [[unlikely]]
    longest = longest_stream(f.size(), [&](int q) { return header_of(f, q, step); });
  if (longest > 0)
    co_await pairwise(f, mine, streams, step, longest);
  else if (streams.empty())
    f.finish(step);
  else
    co_await streams.run();
  if (mine.protocol() == Protocol::direct) co_await f.drained(step);
  f.end_work();
}

}  // namespace tutti::coll::exchange
