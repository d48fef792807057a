// SPDX-License-Identifier: BSD-3-Clause
// Scatter over nodes: the root speaks for its node. It sends each other leader the blocks of that
// node, packed. Few bytes go along a tree, so that nobody sends to many: each leader passes on what
// is for its children. Large blocks pass no leader.
#pragma once

#include "coll/leaders/direct.h"
#include "coll/leaders/row.h"

namespace tutti::coll::leaders {

template <Fabric F, Wire W>
Task scatter_from_root(Members<F, W>& all, const Work& work, const Tree& tree) {
  const Packed packed(all.map, work.out);
  const Branches branches(all, packed, tree);
  Ticket last = 0;
  for (const Branch& child : tree.children()) {
    branches.each_copied(
        child, [&](int node, std::byte* place) { all.fabric.spend(packed.pack_to(node, place)); });
    last = all.wire.send(child.leader, branches.begin(child), branches.bytes(child));
  }
  co_await on_node_of_root<Collective::scatter>(all, work);
  co_await all.wire.done(last);
}

template <Fabric F, Wire W, Tree::Shape shape>
Task scatter(Members<F, W>& all, const Work& work) {
  const Tree tree(all.map, work.root, shape);
  if (work.root == all.map.rank()) {
    co_await scatter_from_root(all, work, tree);
    co_return;
  }
  const std::size_t bytes = work.bytes();
  std::byte* const straight = straight_block(all, work.in[0], bytes);
  if (straight != nullptr && tree.nodes() == 1) {
    co_await all.wire.done(all.wire.receive(tree.parent(), straight, bytes));
    co_return;
  }
  std::vector<Block> places;
  Ticket last = 0;
  if (all.leads(work.root)) {
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

// Where ranks share cores, a row of Scatters takes as long as its root takes to send: the others
// have no less of the cores than it has. It sends as many bytes either way. So a tree pays if they
// take less time than the messages that it saves the root take to start.
[[nodiscard]] inline Passing passing_of_scatter(const Way& way) {
  if (way.shares_cores) return {start_bytes(way), 1, 1};
  return {way.start_bytes};
}
inline bool scatters_along_tree(const NodeMap& map, const Way& way, const Work& work) {
  return pay_by_leader(map, way, work) && pays_to_pass_on(map, way, work, passing_of_scatter(way));
}

template <Fabric F, Wire W>
inline constexpr Row<F, W> scatter_rows[] = {
    {{"binomial", "along a tree of the nodes", fit_branch, scatters_along_tree},
     scatter<F, W, Tree::Shape::binomial>},
    {{"star", "each leader from the root", fit_leader, pay_by_leader},
     scatter<F, W, Tree::Shape::star>},
    {{"direct", "each rank from the root", always, always}, directly<Collective::scatter, F, W>},
};

}  // namespace tutti::coll::leaders
