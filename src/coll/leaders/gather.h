// SPDX-License-Identifier: BSD-3-Clause
// Gather over nodes: the root speaks for its node. Each other leader gathers its node's blocks and
// sends them to the root, packed. Few bytes go along a tree, so that nobody hears from many: each
// leader passes on what its children send. More than a leader may hold goes as a Gatherv, in
// pieces.
#pragma once

#include "coll/leaders/gatherv.h"
#include "coll/leaders/packed.h"

namespace tutti::coll::leaders {

template <Fabric F, Wire W>
Task gather_to_root(Members<F, W>& all, const Work& work, const Tree& tree, bool passed) {
  const int home = all.map.node();
  const Packed packed(all.map, work.in, passed ? home : 0);
  std::byte* const straight = packed.as_they_lie();
  std::byte* const memory = straight != nullptr ? straight : all.wire.scratch(packed.bytes());
  Ticket last = 0;
  for (const Branch& child : tree.children())
    last = all.wire.receive(child.leader, memory + packed.begin(child.node),
                            packed.bytes(child.node, child.nodes));
  const std::vector<Block> blocks = packed.blocks_of(home);
  Work own = all.staged(work);
  own.in = blocks;
  co_await on_node(all, Collective::gather, own);
  co_await all.wire.done(last);
  if (straight != nullptr) co_return;
  for (int node = 0; node < all.map.nodes(); ++node)
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
  const bool passed = passes_on(all.way, all.map, work);
  const Tree tree(all.map, work.root, passed ? Tree::Shape::binomial : Tree::Shape::star);
  if (work.root == all.map.rank()) {
    co_await gather_to_root(all, work, tree, passed);
    co_return;
  }
  const bool leads = all.leads(work.root);
  const std::size_t bytes = work.bytes();
  std::byte* const straight = straight_block(all, work.out[0], bytes);
  if (straight != nullptr && tree.nodes() == 1) {
    co_await all.wire.done(all.wire.send(tree.parent(), straight, bytes));
    co_return;
  }
  const Held held(all.map, tree, bytes);
  std::byte* const memory = leads ? all.wire.scratch(held.bytes()) : nullptr;
  std::vector<Block> places;
  Ticket last = 0;
  if (leads) {
    places = equal_places(memory, bytes, static_cast<std::size_t>(all.fabric.size()));
    for (const Branch& child : tree.children())
      last = all.wire.receive(child.leader, memory + held.begin(child), held.bytes(child));
  }
  Work own = all.staged(work);
  own.in = places;
  co_await on_node(all, Collective::gather, own);
  if (!leads) co_return;
  co_await all.wire.done(last);
  co_await all.wire.done(all.wire.send(tree.parent(), memory, held.bytes()));
}

}  // namespace tutti::coll::leaders
