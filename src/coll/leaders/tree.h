// SPDX-License-Identifier: BSD-3-Clause
// Who of the leaders hears from whom in a collective with a root: a binomial tree, a chain that
// large messages go along in pieces, or all from the root. Nodes are counted from the root's on.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "coll/leaders/leaders.h"

namespace tutti::coll::leaders {

// A leader's child, and what it speaks for: nodes that follow each other, its own first; behind the
// last node comes the first.
struct Branch {
  int leader, node, nodes;
};

// As this rank sees it: one that is no leader has neither parent nor children.
class Tree {
 public:
  enum class Shape : std::uint8_t { binomial, chain, star };

  Tree(const NodeMap& map, int root, Shape shape) {
    if (map.leader(map.node(), root) != map.rank()) return;
    const int home = map.node_of(root), nodes = map.nodes();
    const int me = (map.node() - home + nodes) % nodes;
    const auto node = [&](int from_root) { return (home + from_root) % nodes; };
    const auto hear = [&](int from_root) {
      if (me != 0) parent_ = map.leader(node(from_root), root);
    };
    const auto add = [&](int distance, int most) {
      if (distance >= nodes_) return;
      const int child = node(me + distance);
      children_.push_back({map.leader(child, root), child, std::min(most, nodes_ - distance)});
    };
    switch (shape) {
      case Shape::binomial: {
        // The branch, where the number of nodes is a power of two.
        const auto all = static_cast<int>(std::bit_ceil(static_cast<unsigned>(nodes)));
        const int reach = me == 0 ? all : me & -me;
        hear(me - reach);
        nodes_ = std::min(reach, nodes - me);
        // The one with the most nodes first.
        for (int distance = reach / 2; distance > 0; distance /= 2) add(distance, distance);
        break;
      }
      case Shape::chain:
        hear(me - 1);
        nodes_ = nodes - me;
        add(1, nodes_);
        break;
      case Shape::star:
        hear(0);
        nodes_ = me == 0 ? nodes : 1;
        for (int distance = 1; distance < nodes_; ++distance) add(distance, 1);
    }
  }

  // The leader of this node's parent; the root has none.
  [[nodiscard]] int parent() const { return parent_; }
  [[nodiscard]] std::span<const Branch> children() const { return children_; }
  // How many nodes this one speaks for, with its own.
  [[nodiscard]] int nodes() const { return nodes_; }

 private:
  int parent_ = nobody, nodes_ = 1;
  std::vector<Branch> children_;
};

// In what pieces a message passes `nodes` nodes, and whether along a chain.
struct Pipeline {
  enum class Operands : std::uint8_t { none, meet };

  std::size_t piece_bytes;
  bool chain;

  // A chain takes N - 2 pieces longer than the message has. If starting a piece takes as long as s
  // bytes, m bytes in pieces of p take (N - 2 + m / p) (p + s), which is least at p^2 = m s / (N -
  // 2). A chain pays if it is full most of the time. Where ranks share cores nothing overlaps that
  // much, and a piece has what is worth the messages that it takes.
  //
  // Where operands meet, the shape says which of them first. So it is the same in every run, and
  // what was measured makes pieces longer, nothing else.
  Pipeline(const Way& way, std::size_t bytes, int nodes, Operands operands) {
    const auto fastest = [&](std::size_t least, std::size_t start) {
      const auto stages = static_cast<std::size_t>(std::max(1, nodes - 2));
      std::size_t piece = least;
      while (piece < limits::wire_piece_bytes && 4 * piece * piece * stages <= bytes * start)
        piece *= 2;
      return piece;
    };
    const std::size_t usual = fastest(way.least_piece_bytes, way.start_bytes);
    piece_bytes = way.shares_cores ? std::max(usual, shared_piece_bytes(way))
                                   : fastest(way.least_piece_bytes, start_bytes(way));
    const std::size_t pieces = divide_up(bytes, operands == Operands::meet ? usual : piece_bytes);
    chain = pieces > 1 && 2 * pieces > static_cast<std::size_t>(nodes);
  }
};

[[nodiscard]] inline Pipeline pipeline_of(const NodeMap& map, const Way& way, const Work& work,
                                          Pipeline::Operands operands) {
  return {way, work.bytes(), map.nodes(), operands};
}
// Whether pieces along a chain pay.
template <Pipeline::Operands operands>
bool pays_in_pieces(const NodeMap& map, const Way& way, const Work& work) {
  return pipeline_of(map, way, work, operands).chain;
}

}  // namespace tutti::coll::leaders
