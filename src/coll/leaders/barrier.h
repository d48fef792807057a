// SPDX-License-Identifier: BSD-3-Clause
// Barrier over nodes: members tell their leader that they are there, the leaders meet by
// dissemination (Hensgen et al. 1988), and each tells its node's members.
#pragma once

#include <cstring>

#include "coll/leaders/row.h"

namespace tutti::coll::leaders {

template <Fabric F, Wire W>
Task meet(Members<F, W>& all) {
  const int me = all.map.node(), nodes = all.map.nodes();
  // Not of this coroutine, which may be gone before its messages are.
  constexpr std::size_t word = sizeof(std::uint64_t);
  std::byte* const said = all.strict ? all.wire.scratch(2 * word) : nullptr;
  std::byte* const heard = all.strict ? said + word : nullptr;
  const std::uint64_t mine = all.fabric.call();
  const std::size_t bytes = all.strict ? word : 0;
  if (all.strict) std::memcpy(said, &mine, word);
  for (int distance = 1; distance < nodes; distance *= 2) {
    const int from = all.map.leader((me + nodes - distance) % nodes);
    (void)all.wire.send(all.map.leader((me + distance) % nodes), said, bytes);
    co_await all.wire.done(all.wire.receive(from, heard, bytes));
    std::uint64_t theirs = mine;
    if (all.strict) std::memcpy(&theirs, heard, word);
    if (theirs != mine) all.wire.mismatch(from, theirs, mine);
  }
}

template <Fabric F, Wire W>
Task barrier(Members<F, W>& all, const Work&) {
  F& f = all.fabric;
  const Step here = f.next_step(), met = f.next_step();
  const int leader = all.leading_place();
  if (all.leads()) {
    for (int q = 0; q < f.size(); ++q)
      if (q != leader) co_await f.posted(q, here);
    co_await meet(all);
    co_await f.room(met);
    f.post(met, {});
  } else {
    co_await f.room(here);
    f.post(here, {});
    co_await f.posted(leader, met);
  }
  f.finish(met);
}

template <Fabric F, Wire W>
inline constexpr Row<F, W> barrier_rows[] = {
    {{"rounds", "leaders meet in rounds of growing distance", always, always}, barrier<F, W>},
};

}  // namespace tutti::coll::leaders
