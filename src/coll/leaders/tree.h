// SPDX-License-Identifier: BSD-3-Clause
// Who of the leaders hears from whom in a collective with a root: a binomial tree, or a chain that
// large messages go along in pieces. Nodes are counted from the root's on.
#pragma once

#include <array>
#include <bit>
#include <span>

#include "coll/leaders/leaders.h"

namespace tutti::coll::leaders {

class Tree {
 public:
  // `pieces`: in how many the message goes. A chain pays if it has enough to be full most of the
  // time.
  Tree(const NodeMap& map, int root, std::size_t pieces)
      : map_(map), root_(root), me_((map.node() - map.node_of(root) + map.nodes()) % map.nodes()) {
    const int nodes = map.nodes();
    const bool chain = pieces > 1 && 2 * pieces > static_cast<std::size_t>(nodes);
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
