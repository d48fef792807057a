// SPDX-License-Identifier: BSD-3-Clause
// Scatter over nodes: the root speaks for its node. It sends each other leader the blocks of that
// node, packed. More than that one may hold goes as a Scatterv, in pieces.
#pragma once

#include "coll/leaders/packed.h"
#include "coll/leaders/scatterv.h"

namespace tutti::coll::leaders {

template <Fabric F, Wire W>
Task scatter_from_root(Members<F, W>& all, const Work& work) {
  const Packed packed(all.map, work.out);
  const int home = all.map.node();
  std::byte* const straight = packed.as_they_lie();
  std::byte* const memory = straight != nullptr ? straight : all.wire.scratch(packed.bytes());
  Ticket last = 0;
  for (int node = 0; node < all.map.nodes(); ++node) {
    if (node == home) continue;
    if (straight == nullptr) all.fabric.spend(packed.pack(node, memory));
    last = all.wire.send(all.map.leader(node), memory + packed.begin(node), packed.bytes(node));
  }
  const std::vector<Block> blocks = packed.blocks_of(home);
  Work own = all.staged(work);
  own.out = blocks;
  co_await on_node(all, Collective::scatter, own);
  co_await all.wire.done(last);
}

template <Fabric F, Wire W>
Task scatter(Members<F, W>& all, const Work& work) {
  if (!fit_leaders(all.map, work)) {
    Work large = work;
    large.count = 0;  // as of a Scatterv
    co_await scatterv(all, large);
    co_return;
  }
  if (work.root == all.map.rank()) {
    co_await scatter_from_root(all, work);
    co_return;
  }
  const bool leads = all.leads(work.root);
  const std::size_t bytes = work.bytes(), members = static_cast<std::size_t>(all.fabric.size());
  if (std::byte* const straight = straight_block(all, work.in[0], bytes)) {
    co_await all.wire.done(all.wire.receive(work.root, straight, bytes));
    co_return;
  }
  std::vector<Block> places;
  if (leads) {
    std::byte* const memory = all.wire.scratch(members * bytes);
    places = equal_places(memory, bytes, members);
    co_await all.wire.done(all.wire.receive(work.root, memory, members * bytes));
  }
  Work own = all.staged(work);
  own.out = places;
  co_await on_node(all, Collective::scatter, own);
}

}  // namespace tutti::coll::leaders
