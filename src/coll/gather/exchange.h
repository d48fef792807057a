// SPDX-License-Identifier: BSD-3-Clause
// Gather and Gatherv: the senders write (Ma et al. 2010), all of them at once, into the root's
// buffer where they can reach it. Small blocks ride in the sender's line or slot, and the sender
// goes on at once. A sender of a large block waits for the root to say where it goes. The root
// knows all sizes, and says so if any block is large.
#pragma once

#include <optional>

#include "coll/exchange/incoming.h"
#include "coll/exchange/outgoing.h"

namespace tutti::coll::gather {
namespace detail {

constexpr std::uint32_t pieces_of(std::size_t bytes) {
  return static_cast<std::uint32_t>(divide_up(bytes, segment::staging_bytes));
}

// Sends a block that only my slots can carry, to one reader.
template <Fabric F>
Task feed(F& f, const Block& block, Step step) {
  const std::uint32_t pieces = pieces_of(block.bytes);
  co_await f.drained(step - 1);  // all my slots are free
  for (std::uint32_t i = 0; i < pieces; ++i) {
    if (i >= segment::slots)
      co_await f.landed(f.rank(), step, i + 1 - static_cast<std::uint32_t>(segment::slots));
    const std::size_t begin = std::size_t{i} * segment::staging_bytes;
    pack(f.staging(f.rank(), i), block, begin,
         std::min(segment::staging_bytes, block.bytes - begin));
    f.produce(step, i + 1);
  }
  co_await f.landed(f.rank(), step, pieces);
}

template <Fabric F>
Task drink(F& f, int peer, const Block& into, std::size_t bytes, Step step) {
  const std::uint32_t pieces = pieces_of(bytes);
  for (std::uint32_t i = 0; i < pieces; ++i) {
    const std::size_t begin = std::size_t{i} * segment::staging_bytes;
    co_await f.produced(peer, step, i + 1);
    const std::size_t piece = std::min(segment::staging_bytes, bytes - begin);
    unpack(into, begin, f.staging(peer, i), piece);
    hand_back(f, f.staging(peer, i), piece);
    f.land(peer, step);
  }
}

template <Fabric F>
Task send(F& f, const Work& work) {
  using namespace exchange;
  const Step step = f.next_step();
  Outgoing<F> mine(f, work.out, Use::pushed);
  const bool streamed = mine.protocol() == Protocol::streamed;
  co_await mine.room(step);
  if (streamed) f.open_share(step);
  mine.post(step);
  if (!streamed && mine.protocol() != Protocol::direct) {
    f.finish(step);
    co_return;
  }
  Incoming<F> root(Bounce<F>{f}, work.root, step, co_await f.posted(work.root, step));
  f.begin_work();
  const bool writable = root.protocol() == Protocol::direct;
  if (writable)
    root.put(f.rank(), mine.to(work.root), work.stores);
  else if (streamed)
    co_await feed(f, mine.to(work.root), step);
  co_await f.pause(mine.to(work.root).bytes);
  f.finish(step);
  if (!writable && !streamed) co_await f.drained(step);
  f.end_work();
}

template <Fabric F>
Task receive(F& f, const Work& work) {
  using namespace exchange;
  const Step step = f.next_step();
  const int me = f.rank();
  const auto in = [&](int q) -> const Block& { return work.in[static_cast<std::size_t>(q)]; };
  std::optional<Outgoing<F>> lent;
  const Bounce<F> bounce{f};
  bool asked = false;
  for (int q = 0; q < f.size(); ++q)
    asked = asked || (q != me && in(q).bytes >= f.costs().direct_bytes);
  if (asked) {
    lent.emplace(f, work.in, Use::written);
    co_await lent->room(step);
    lent->post(step);
  }
  co_await f.pause(0);
  f.begin_work();
  if (!work.out.empty()) {
    keep(f, in(me), work.out[0], bounce, work.stores);
    co_await f.pause(in(me).bytes);
  }
  f.end_work();
  const bool writable = asked && lent->protocol() == Protocol::direct;
  bool written = false;
  for (int k = 1; k < f.size(); ++k) {
    const int q = member_after(f, k);
    Incoming<F> theirs(bounce, q, step, co_await f.posted(q, step));
    f.expect(q, step + 2);  // in a row of gathers the others are ahead
    if (k == 1) f.begin_work();
    if (theirs.protocol() == Protocol::inlined) {
      theirs.take(me, in(q), work.stores, true);
      continue;
    }
    const std::size_t bytes = theirs.admitted(me, in(q));
    const bool large =
        theirs.protocol() == Protocol::direct || theirs.protocol() == Protocol::streamed;
    written = written || (large && writable);
    if (large && writable) continue;
    if (theirs.protocol() == Protocol::streamed)
      co_await drink(f, q, in(q), bytes, step);
    else
      theirs.take(me, in(q), work.stores, true);
  }
  f.everyone_arrived();
  f.finish(step);
  if (written) co_await f.drained(step);
  f.end_work();
}

}  // namespace detail

template <Fabric F>
Task gather(F& f, const Work& work) {
  return f.rank() == work.root ? detail::receive(f, work) : detail::send(f, work);
}

}  // namespace tutti::coll::gather
