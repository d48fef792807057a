// SPDX-License-Identifier: BSD-3-Clause
// Reduce over nodes: the root speaks for its node. Each leader folds what its node has with what
// its children in the tree send, and passes it on; in pieces, so that a piece is on its way while
// the node's members fold the next.
#pragma once

#include "coll/leaders/row.h"
#include "coll/leaders/tree.h"

namespace tutti::coll::leaders {

// The places of a leader's pieces: of each kind two, as two pieces are under way.
struct Places {
  std::byte* memory = nullptr;
  std::size_t bytes = 0;  // of a place

  [[nodiscard]] std::byte* at(std::size_t piece, std::size_t kind) const {
    return memory + (2 * kind + piece % 2) * bytes;
  }
};

template <Fabric F, Wire W, Tree::Shape shape>
Task reduce(Members<F, W>& all, const Work& work) {
  const std::size_t element = work.element_bytes;
  const std::size_t piece_bytes =
      pipeline_of(all.map, all.way, work, Pipeline::Operands::meet).piece_bytes;
  const std::size_t most = std::max<std::size_t>(1, piece_bytes / element);
  const std::size_t pieces = divide_up(work.count, most);
  const Tree tree(all.map, work.root, shape);
  const bool leads = all.leads(work.root), ends = leads && tree.parent() == nobody;
  // What a leader has that is alone on its node is sent, or folded, from where it is.
  const bool alone = all.fabric.size() == 1;
  const std::size_t children = tree.children().size();
  const auto part = [&](std::size_t piece) {
    return Slice{piece * most, std::min(most, work.count - piece * most)};
  };
  Places places{.bytes = round_up(std::min(most, work.count) * element, 64)};
  if (leads) places.memory = all.wire.scratch(2 * (1 + children) * places.bytes);
  // The first kind of place has the sum, the others what each child sends.
  const auto receive = [&](std::size_t piece) {
    Ticket ticket = 0;
    for (std::size_t i = 0; i < children; ++i)
      ticket = all.wire.receive(tree.children()[i].leader, places.at(piece, 1 + i),
                                part(piece).count * element);
    return ticket;
  };
  Ticket heard = receive(0), sent[2] = {0, 0};
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    const Slice here = part(piece);
    std::byte* const sum =
        ends ? static_cast<std::byte*>(work.recv) + here.begin * element : places.at(piece, 0);
    const Ticket awaited = heard;
    if (piece + 1 < pieces) heard = receive(piece + 1);
    if (leads) co_await all.wire.done(sent[piece % 2]);
    if (!alone) co_await reduce_on_node(all, work, here, sum, work.root);
    if (!leads) continue;
    if (children > 0) co_await all.wire.done(awaited);
    const std::byte* mine =
        alone ? static_cast<const std::byte*>(work.send) + here.begin * element : sum;
    for (std::size_t i = 0; i < children; ++i) {
      all.fold(work, sum, mine, places.at(piece, 1 + i), here.count, work.stores);
      mine = sum;
    }
    if (!ends)
      sent[piece % 2] = all.wire.send(tree.parent(), mine, here.count * element);
    else if (mine != sum)  // nobody else is there
      all.copy(sum, mine, here.count * element);
  }
  if (leads) co_await all.wire.done(std::max(sent[0], sent[1]));
}

template <Fabric F, Wire W>
inline constexpr Row<F, W> reduce_rows[] = {
    {{"chain", "in pieces from node to node", always, pays_in_pieces<Pipeline::Operands::meet>},
     reduce<F, W, Tree::Shape::chain>},
    {{"binomial", "a tree of the nodes", always, always}, reduce<F, W, Tree::Shape::binomial>},
};

}  // namespace tutti::coll::leaders
