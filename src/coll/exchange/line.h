// SPDX-License-Identifier: BSD-3-Clause
// What only moves data, where all that a sender sends rides in its flag's own line, and everybody
// knows that it does: no header. Who only sends does not wait, but for room.
#pragma once

#include "coll/exchange/header.h"

namespace tutti::coll::exchange {

enum class Senders : std::uint8_t { root, others, everyone };  // others: all but the root

template <Fabric F, Senders senders>
Task line(F& f, const Work& work) {
  const Step step = f.next_step();
  const int me = f.rank();
  const bool everyone = senders == Senders::everyone, from_root = senders == Senders::root;
  const bool sends = everyone || (me == work.root) == from_root;
  const int sources = everyone || !sends ? (from_root ? 1 : f.size() - 1) : 0;
  const auto of = [](std::span<const Block> blocks, int q) -> const Block& {
    return blocks[blocks.size() == 1 ? 0 : static_cast<std::size_t>(q)];
  };
  f.take(Route::line);
  const bool keeps = !work.out.empty() && !work.in.empty();
  if (keeps && !admits(f, me, of(work.out, me).bytes, of(work.in, me))) co_return;
  const bool one_each = from_root || work.out.size() > 1;
  if (sends) {
    std::byte payload[segment::payload_bytes];
    std::size_t used = 0;
    for (std::size_t q = 0; q < work.out.size(); ++q) {
      if (one_each && static_cast<int>(q) == me) continue;
      pack(payload + used, work.out[q], 0, work.out[q].bytes);
      used += work.out[q].bytes;
    }
    co_await f.room(step);
    f.post(step, {payload, used});
  }
  if (keeps) keep(f, of(work.in, me), of(work.out, me), Bounce<F>{f}, work.stores);
  for (int k = 1; k <= sources; ++k) {
    const int q = from_root ? work.root : (me + k) % f.size();
    const std::byte* theirs = co_await f.posted(q, step);
    if (!everyone) f.expect(q, step + (from_root ? 1 : 2));  // in a row of calls they are ahead
    const Block& into = of(work.in, q);
    const int before = !one_each ? 0 : me < q ? me : me - 1;  // its own is left out
    unpack(into, 0, theirs + static_cast<std::size_t>(before) * into.bytes, into.bytes);
  }
  if (sources == f.size() - 1) f.everyone_arrived();
  f.finish(step);
}

}  // namespace tutti::coll::exchange
