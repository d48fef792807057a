// SPDX-License-Identifier: BSD-3-Clause
// Bcast between the users' buffers. The receivers copy from the root's buffer, all of them at once
// (Ma et al. 2010, the receiver reads). The root must stay until they are done anyway, so it copies
// chunks for them: with two ranks both move half of the bytes.
#pragma once

#include "coll/bcast/staged.h"

namespace tutti::coll::bcast {
namespace detail {

struct Copy {
  std::size_t bytes;
  std::size_t chunk_bytes;

  // From the root's card alone, which every member sees.
  Copy(std::size_t all, const Card& root)
      : bytes(all), chunk_bytes(chunk_of(all, most_chunk_bytes(root.transport))) {}
  [[nodiscard]] std::uint32_t chunks() const {
    return static_cast<std::uint32_t>(divide_up(bytes, chunk_bytes));
  }
  [[nodiscard]] std::size_t begin(std::int64_t chunk) const {
    return static_cast<std::size_t>(chunk) * chunk_bytes;
  }
  [[nodiscard]] std::size_t size(std::int64_t chunk) const {
    return std::min(chunk_bytes, bytes - begin(chunk));
  }
};

// A receiver takes chunks of its own until there are none.
template <Fabric F>
Task pull(F& f, const Work& work, Step step, Card root, Copy copy) {
  auto* mine = static_cast<std::byte*>(work.recv);
  const std::byte* source = f.map(work.root, root);
  std::int64_t chunk;
  while ((chunk = f.claim(f.rank(), step, copy.chunks())) != fabric::no_chunk) {
    const std::size_t begin = copy.begin(chunk);
    if (source != nullptr)
      reduce::copy(mine + begin, source + begin, copy.size(chunk), work.stores);
    else
      f.read(work.root, root, begin, mine + begin, copy.size(chunk));
    co_await f.pause(copy.size(chunk));
    f.land(f.rank(), step);
  }
  co_await f.landed(f.rank(), step, copy.chunks());
}

// The root takes chunks of a receiver until there are none.
template <Fabric F>
Task push(F& f, const Work& work, Step step, int peer, Card theirs, Copy copy) {
  const auto* mine = static_cast<const std::byte*>(work.recv);
  std::byte* target = f.map(peer, theirs);
  std::int64_t chunk;
  while ((chunk = f.claim(peer, step, copy.chunks())) != fabric::no_chunk) {
    const std::size_t begin = copy.begin(chunk);
    if (target != nullptr)
      reduce::copy(target + begin, mine + begin, copy.size(chunk), work.stores);
    else
      f.write(peer, theirs, begin, mine + begin, copy.size(chunk));
    co_await f.pause(copy.size(chunk));
    f.land(peer, step);
  }
}

}  // namespace detail

template <Fabric F>
Task direct(F& f, const Work& work) {
  const Step step = f.next_step();
  const bool is_root = f.rank() == work.root;
  const Card mine = as_chosen(f.offer(work.recv, work.bytes()), work.cico);
  Card root = mine;
  if (!is_root) {
    f.populate(work.recv, work.bytes());
    f.open_share(step);
  }
  co_await f.room(step);
  f.post(step, bytes_of(mine));
  if (!is_root) {
    const std::byte* payload = co_await f.posted(work.root, step);
    std::memcpy(&root, payload, sizeof root);
  }
  // A timed root learns how long all members take. So it waits for them, before and after.
  const bool waits = is_root && work.timed;
  for (int k = 1; waits && k < f.size(); ++k) co_await f.posted(member_after(f, k), step);
  // Everyone sees the root's card, so everyone agrees.
  if (!can_copy(root.transport)) {
    f.finish(step);
    f.begin_work();
    co_await staged(f, work);
    if (waits) co_await f.drained(f.last_step());
    f.end_work();
    co_return;
  }
  f.take(route_of(root.transport));
  const detail::Copy copy(work.bytes(), root);
  if (!is_root) {
    f.begin_shared_work();
    co_await detail::pull(f, work, step, root, copy);
  } else {
    for (int k = 1; k < f.size(); ++k) {
      const int peer = member_after(f, k);
      Card theirs;
      const std::byte* payload = co_await f.posted(peer, step);
      std::memcpy(&theirs, payload, sizeof theirs);
      if (k == 1) f.begin_shared_work();
      if (can_copy(theirs.transport)) co_await detail::push(f, work, step, peer, theirs, copy);
    }
    f.everyone_arrived();
    for (int k = 1; k < f.size(); ++k) co_await f.landed(member_after(f, k), step, copy.chunks());
  }
  f.end_work();
  f.finish(step);
}

}  // namespace tutti::coll::bcast
