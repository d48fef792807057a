// SPDX-License-Identifier: BSD-3-Clause
// Gather over nodes: the root speaks for its node. Each other leader gathers its node's blocks and
// sends them to the root, packed. Few bytes go along a tree, so that nobody hears from many: each
// leader passes on what its children send. Large blocks pass no leader.
#pragma once

#include "coll/leaders/direct.h"
#include "coll/leaders/row.h"

namespace tutti::coll::leaders {

template <Fabric F, Wire W>
Task gather_to_root(Members<F, W>& all, const Work& work, const Tree& tree) {
  const Packed packed(all.map, work.in);
  const Branches branches(all, packed, tree);
  Ticket last = 0;
  for (const Branch& child : tree.children())
    last = all.wire.receive(child.leader, branches.begin(child), branches.bytes(child),
                            gathers_whole(all.map, work));
  co_await on_node_of_root<Collective::gather>(all, work);
  co_await all.wire.done(last);
  for (const Branch& child : tree.children())
    branches.each_copied(child, [&](int node, const std::byte* place) {
      all.fabric.spend(packed.unpack_from(node, place));
    });
}

template <Fabric F, Wire W, Tree::Shape shape>
Task gather(Members<F, W>& all, const Work& work) {
  const Tree tree(all.map, work.root, shape);
  if (work.root == all.map.rank()) {
    co_await gather_to_root(all, work, tree);
    co_return;
  }
  const std::size_t bytes = work.bytes();
  const fabric::Whole whole = gathers_whole(all.map, work);
  std::byte* const straight = straight_block(all, work.out[0], bytes);
  if (straight != nullptr && tree.nodes() == 1) {
    co_await all.wire.done(all.wire.send(tree.parent(), straight, bytes, whole));
    co_return;
  }
  const Held held(all.map, tree, bytes);
  const bool leads = all.leads(work.root);
  std::byte* const memory = leads ? all.wire.scratch(held.bytes()) : nullptr;
  std::vector<Block> places;
  if (leads) places = equal_places(memory, bytes, static_cast<std::size_t>(all.fabric.size()));
  Ticket last = 0;
  for (const Branch& child : tree.children())
    last = all.wire.receive(child.leader, memory + held.begin(child), held.bytes(child), whole);
  Work own = all.staged(work);
  own.in = places;
  co_await on_node(all, Collective::gather, own);
  co_await all.wire.done(last);
  if (leads) co_await all.wire.done(all.wire.send(tree.parent(), memory, held.bytes(), whole));
}

inline bool gathers_along_tree(const NodeMap& map, const Way& way, const Work& work) {
  return pay_by_leader(map, way, work) && pays_to_pass_on(map, way, work, {way.start_bytes});
}

template <Fabric F, Wire W>
inline constexpr Row<F, W> gather_rows[] = {
    {{"binomial", "along a tree of the nodes", fit_branch, gathers_along_tree},
     gather<F, W, Tree::Shape::binomial>},
    {{"star", "each leader to the root", fit_leader, pay_by_leader},
     gather<F, W, Tree::Shape::star>},
    {{"direct", "each rank to the root", always, always}, directly<Collective::gather, F, W>},
};

}  // namespace tutti::coll::leaders
