// SPDX-License-Identifier: BSD-3-Clause
// Who of the leaders hears from whom in a collective with a root: a binomial tree, or a chain that
// large messages go along in pieces. Nodes are counted from the root's on.
#pragma once

#include <array>
#include <bit>
#include <span>

#include "coll/leaders/leaders.h"

namespace tutti::coll::leaders {

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
};

class Tree {
 public:
  Tree(const NodeMap& map, int root, bool chain)
      : map_(map), root_(root), me_((map.node() - map.node_of(root) + map.nodes()) % map.nodes()) {
    const int nodes = map.nodes();
    if (me_ != 0) parent_ = leader(chain ? me_ - 1 : me_ & (me_ - 1));
    if (chain) {
      if (me_ + 1 < nodes) add(me_ + 1);
      return;
    }
    // The one with the most nodes below it first.
    const int reach =
        me_ == 0 ? static_cast<int>(std::bit_ceil(static_cast<unsigned>(nodes))) : me_ & -me_;
    for (int distance = reach / 2; distance > 0; distance /= 2)
      if (me_ + distance < nodes) add(me_ + distance);
  }

  // The leaders of these nodes; the root has no parent.
  [[nodiscard]] int parent() const { return parent_; }
  [[nodiscard]] std::span<const int> children() const { return std::span(children_).first(count_); }

 private:
  [[nodiscard]] int leader(int from_root) const {
    return map_.leader((map_.node_of(root_) + from_root) % map_.nodes(), root_);
  }
  void add(int from_root) { children_[count_++] = leader(from_root); }

  const NodeMap& map_;
  int root_, me_;
  int parent_ = nobody;
  std::array<int, 32> children_{};
  std::size_t count_ = 0;
};

}  // namespace tutti::coll::leaders
