// SPDX-License-Identifier: BSD-3-Clause
// Collectives that only move data, where a sender's data rides in its flag's own line, and all
// members know that it does. So there is no header. A member that only sends waits for nothing but
// room.
#pragma once

#include "coll/exchange/header.h"

namespace tutti::coll::exchange {

enum class Senders : std::uint8_t { root, others, everyone };  // others: all but the root

template <Fabric F, Senders senders>
Task line(F& f, const Work& work) {
  constexpr bool everyone = senders == Senders::everyone, from_root = senders == Senders::root;
  const Step step = f.next_step();
  const int me = f.rank();
  const bool sends = everyone || (me == work.root) == from_root;
  const bool keeps = !work.out.empty() && !work.in.empty();
  const auto of = [](std::span<const Block> blocks, int q) -> const Block& {
    return blocks[blocks.size() == 1 ? 0 : static_cast<std::size_t>(q)];
  };
  f.take(Route::line);
  if (keeps && !admits(f, me, of(work.out, me).bytes, of(work.in, me))) co_return;
  if (sends) {
    co_await f.room(step);
    f.post_with(step, [&](std::byte* to) {
      if (work.out.size() == 1) return pack(to, work.out[0], 0, work.out[0].bytes);
      for (int q = 0; q < f.size(); ++q) {
        if (q == me) continue;
        const Block& block = work.out[static_cast<std::size_t>(q)];
        pack(to, block, 0, block.bytes);
        to += block.bytes;
      }
    });
  }
  if (keeps) keep_admitted(of(work.in, me), of(work.out, me), Bounce<F>{f}, work.stores);
  if (everyone || !sends) {
    const bool one_each = from_root || work.out.size() > 1;
    for (int q = from_root ? work.root : 0; q < f.size(); ++q) {
      if (q == me) continue;
      const std::byte* theirs = co_await f.posted(q, step);
      if (!everyone) f.expect(q, step + (from_root ? 1 : 2));  // in a row of calls they are ahead
      const Block& into = of(work.in, q);
      // What a member would send itself is left out.
      const int before = !one_each ? 0 : me < q ? me : me - 1;
      unpack(into, 0, theirs + static_cast<std::size_t>(before) * into.bytes, into.bytes);
      if (from_root) break;
    }
    if (!from_root || f.size() == 2) f.everyone_arrived();
  }
  f.finish(step);
}

}  // namespace tutti::coll::exchange
