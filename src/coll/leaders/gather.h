// SPDX-License-Identifier: BSD-3-Clause
// Gather over nodes: the root speaks for its node. Each other leader gathers its node's blocks and
// sends them, packed. More than it may hold goes as a Gatherv, in pieces.
#pragma once

#include "coll/leaders/gatherv.h"
#include "coll/leaders/packed.h"

namespace tutti::coll::leaders {

template <Fabric F, Wire W>
Task gather_to_root(Members<F, W>& all, const Work& work) {
  const Packed packed(all.map, work.in);
  const int home = all.map.node(), nodes = all.map.nodes();
  std::byte* const straight = packed.as_they_lie();
  std::byte* const memory = straight != nullptr ? straight : all.wire.scratch(packed.bytes());
  Ticket last = 0;
  for (int node = 0; node < nodes; ++node)
    if (node != home)
      last =
          all.wire.receive(all.map.leader(node), memory + packed.begin(node), packed.bytes(node));
  const std::vector<Block> blocks = packed.blocks_of(home);
  Work own = all.staged(work);
  own.in = blocks;
  co_await on_node(all, Collective::gather, own);
  co_await all.wire.done(last);
  if (straight != nullptr) co_return;
  for (int node = 0; node < nodes; ++node)
    if (node != home) all.fabric.spend(packed.unpack(node, memory));
}

template <Fabric F, Wire W>
Task gather(Members<F, W>& all, const Work& work) {
  if (!fit_leaders(all.map, work)) {
    Work large = work;
    large.count = 0;  // as of a Gatherv
    co_await gatherv(all, large);
    co_return;
  }
  if (work.root == all.map.rank()) {
    co_await gather_to_root(all, work);
    co_return;
  }
  const bool leads = all.leads(work.root);
  const std::size_t bytes = work.bytes(), members = static_cast<std::size_t>(all.fabric.size());
  if (std::byte* const straight = straight_block(all, work.out[0], bytes)) {
    co_await all.wire.done(all.wire.send(work.root, straight, bytes));
    co_return;
  }
  std::byte* const memory = leads ? all.wire.scratch(members * bytes) : nullptr;
  std::vector<Block> places;
  if (leads) places = equal_places(memory, bytes, members);
  Work own = all.staged(work);
  own.in = places;
  co_await on_node(all, Collective::gather, own);
  if (leads) co_await all.wire.done(all.wire.send(work.root, memory, members * bytes));
}

}  // namespace tutti::coll::leaders
