// SPDX-License-Identifier: BSD-3-Clause
// Scatter over nodes: the root speaks for its node. It sends each other leader the blocks of that
// node, packed. Few bytes go along a tree, so that nobody sends to many: each leader passes on what
// is for its children. More than a leader may hold goes as a Scatterv, in pieces.
#pragma once

#include "coll/leaders/packed.h"
#include "coll/leaders/scatterv.h"

namespace tutti::coll::leaders {

template <Fabric F, Wire W>
Task scatter_from_root(Members<F, W>& all, const Work& work, const Tree& tree, bool passed) {
  const int home = all.map.node(), nodes = all.map.nodes();
  const Packed packed(all.map, work.out, passed ? home : 0);
  std::byte* const straight = packed.as_they_lie();
  std::byte* const memory = straight != nullptr ? straight : all.wire.scratch(packed.bytes());
  Ticket last = 0;
  for (const Branch& child : tree.children()) {
    for (int next = 0; straight == nullptr && next < child.nodes; ++next)
      all.fabric.spend(packed.pack((child.node + next) % nodes, memory));
    last = all.wire.send(child.leader, memory + packed.begin(child.node),
                         packed.bytes(child.node, child.nodes));
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
  const bool passed = passes_on(all.way, all.map, work);
  const Tree tree(all.map, work.root, passed ? Tree::Shape::binomial : Tree::Shape::star);
  if (work.root == all.map.rank()) {
    co_await scatter_from_root(all, work, tree, passed);
    co_return;
  }
  const bool leads = all.leads(work.root);
  const std::size_t bytes = work.bytes();
  std::byte* const straight = straight_block(all, work.in[0], bytes);
  if (straight != nullptr && tree.nodes() == 1) {
    co_await all.wire.done(all.wire.receive(tree.parent(), straight, bytes));
    co_return;
  }
  std::vector<Block> places;
  Ticket last = 0;
  if (leads) {
    const Held held(all.map, tree, bytes);
    std::byte* const memory = all.wire.scratch(held.bytes());
    places = equal_places(memory, bytes, static_cast<std::size_t>(all.fabric.size()));
    co_await all.wire.done(all.wire.receive(tree.parent(), memory, held.bytes()));
    for (const Branch& child : tree.children())
      last = all.wire.send(child.leader, memory + held.begin(child), held.bytes(child));
  }
  Work own = all.staged(work);
  own.out = places;
  co_await on_node(all, Collective::scatter, own);
  co_await all.wire.done(last);
}

}  // namespace tutti::coll::leaders
