// SPDX-License-Identifier: BSD-3-Clause
// Bcast over nodes: the root speaks for its node. A large message goes along the leaders in pieces.
// While a piece is on its way to the next leader, the node's members get it, and the piece after it
// comes in.
#pragma once

#include "coll/leaders/row.h"
#include "coll/leaders/tree.h"

namespace tutti::coll::leaders {

template <Fabric F, Wire W, Tree::Shape shape>
Task bcast(Members<F, W>& all, const Work& work) {
  auto* const data = static_cast<std::byte*>(work.recv);
  const std::size_t bytes = work.bytes();
  const std::size_t piece =
      pipeline_of(all.map, all.way, work, Pipeline::Operands::none).piece_bytes;
  const Tree tree(all.map, work.root, shape);
  const bool leads = all.leads(work.root), hears = leads && tree.parent() != nobody;
  const auto length = [&](std::size_t begin) { return std::min(piece, bytes - begin); };
  Ticket next = hears ? all.wire.receive(tree.parent(), data, length(0)) : 0, last = next;
  for (std::size_t begin = 0; begin < bytes; begin += piece) {
    const std::size_t after = begin + piece;
    if (hears) {
      const Ticket here = next;
      if (after < bytes) next = all.wire.receive(tree.parent(), data + after, length(after));
      co_await all.wire.done(here);
    }
    if (leads)
      for (const Branch& child : tree.children())
        last = all.wire.send(child.leader, data + begin, length(begin));
    co_await bcast_on_node(all, data + begin, length(begin), work.root);
  }
  if (leads) co_await all.wire.done(last);
}

template <Fabric F, Wire W>
inline constexpr Row<F, W> bcast_rows[] = {
    {{"chain", "in pieces from node to node", always, pays_in_pieces<Pipeline::Operands::none>},
     bcast<F, W, Tree::Shape::chain>},
    {{"binomial", "a tree of the nodes", always, always}, bcast<F, W, Tree::Shape::binomial>},
};

}  // namespace tutti::coll::leaders
