// SPDX-License-Identifier: BSD-3-Clause
// Who of the leaders hears from whom in a collective with a root: a binomial tree, a chain that
// large messages go along in pieces, or all from the root. Nodes are counted from the root's on.
#pragma once

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

class Tree {
 public:
  enum class Shape : std::uint8_t { binomial, chain, star };

  Tree(const NodeMap& map, int root, Shape shape)
      : map_(map), root_(root), me_((map.node() - map.node_of(root) + map.nodes()) % map.nodes()) {
    const int nodes = map.nodes();
    // So many nodes has my own branch, or would have where their number is a power of two.
    int reach = me_ == 0 ? nodes : 1;
    if (shape == Shape::binomial)
      reach = me_ == 0 ? static_cast<int>(std::bit_ceil(static_cast<unsigned>(nodes))) : me_ & -me_;
    if (shape == Shape::chain) reach = nodes - me_;
    nodes_ = std::min(reach, nodes - me_);
    if (me_ != 0) {
      const int before = shape == Shape::binomial ? me_ - reach : me_ - 1;
      parent_ = leader(shape == Shape::star ? 0 : before);
    }
    switch (shape) {
      case Shape::binomial:  // the one with the most nodes first
        children_.reserve(static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(nodes_))));
        for (int distance = reach / 2; distance > 0; distance /= 2) add(distance, distance);
        break;
      case Shape::chain:
        add(1, nodes_ - 1);
        break;
      case Shape::star:
        children_.reserve(static_cast<std::size_t>(nodes_ - 1));
        for (int distance = 1; distance < nodes_; ++distance) add(distance, 1);
    }
  }

  // The leader of this node's parent; the root has none.
  [[nodiscard]] int parent() const { return parent_; }
  [[nodiscard]] std::span<const Branch> children() const { return children_; }
  // How many nodes this one speaks for, with its own.
  [[nodiscard]] int nodes() const { return nodes_; }

 private:
  [[nodiscard]] int node(int from_root) const {
    return (map_.node_of(root_) + from_root) % map_.nodes();
  }
  [[nodiscard]] int leader(int from_root) const { return map_.leader(node(from_root), root_); }
  void add(int distance, int nodes) {
    if (distance < nodes_)
      children_.push_back(
          {leader(me_ + distance), node(me_ + distance), std::min(nodes, nodes_ - distance)});
  }

  const NodeMap& map_;
  int root_, me_, nodes_ = 1;
  int parent_ = nobody;
  std::vector<Branch> children_;
};

// In what pieces a message passes `nodes` nodes, and whether along a chain.
struct Pipeline {
  std::size_t piece_bytes;
  bool chain;

  // A chain takes N - 2 pieces longer than the message has. If starting a piece takes as long as s
  // bytes, m bytes in pieces of p take (N - 2 + m / p) (p + s), which is least at p^2 = m s / (N -
  // 2). A chain pays if it is full most of the time.
  Pipeline(const Way& way, std::size_t bytes, int nodes) : piece_bytes(way.least_piece_bytes) {
    const auto too_long = [&](std::size_t piece) {
      return piece * piece * static_cast<std::size_t>(std::max(1, nodes - 2)) >
             bytes * way.start_bytes;
    };
    while (piece_bytes < limits::wire_piece_bytes && !too_long(2 * piece_bytes)) piece_bytes *= 2;
    const std::size_t pieces = divide_up(bytes, piece_bytes);
    chain = pieces > 1 && 2 * pieces > static_cast<std::size_t>(nodes);
  }
  [[nodiscard]] Tree::Shape shape() const {
    return chain ? Tree::Shape::chain : Tree::Shape::binomial;
  }
};

}  // namespace tutti::coll::leaders
