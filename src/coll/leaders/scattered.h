// SPDX-License-Identifier: BSD-3-Clause
// What the ways of a Reduce_scatter over nodes have in common: whose the elements are, and how a
// node's members get theirs.
//
// In place, a result comes to where operands were that have met already: the sum of element v is
// at v or before it, and by then all elements up to v of all nodes' parts have met.
#pragma once

#include <algorithm>
#include <vector>

#include "coll/leaders/leaders.h"

namespace tutti::coll::leaders {

// Of one rank, in a call.
template <Fabric F, Wire W>
class ScatteredSums {
 protected:
  ScatteredSums(Members<F, W>& all, const Work& work)
      : all_(all), work_(work), me_(all.map.node()), nodes_(all.map.nodes()) {}

  [[nodiscard]] int node_at(int distance) const { return (me_ + distance + nodes_) % nodes_; }
  [[nodiscard]] const Slice& part_of(int rank) const {
    return work_.parts[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] std::size_t bytes_of(std::size_t count) const {
    return count * work_.element_bytes;
  }
  // How many elements of `range` are for a node.
  [[nodiscard]] std::size_t count_of(int node, const Slice& range) const {
    std::size_t count = 0;
    for (const int rank : all_.map.members(node)) count += overlap(part_of(rank), range).count;
    return count;
  }

  // To each member of this node what of its part is in `range`; they lie at `sum` of the leader.
  Task hand_out(Slice range, std::byte* sum, int leader) {
    std::vector<Block> out;
    bool even = true;
    const auto members = all_.map.members(me_);
    const std::size_t first = bytes_of(overlap(part_of(members[0]), range).count);
    for (const int rank : members) {
      const std::size_t bytes = bytes_of(overlap(part_of(rank), range).count);
      even = even && bytes == first;
      if (leader != all_.map.rank()) continue;
      out.push_back({sum, bytes, nullptr});
      sum += bytes;
    }
    const Slice& part = part_of(all_.map.rank());
    const Slice mine = overlap(part, range);
    Block in{static_cast<std::byte*>(work_.recv), bytes_of(mine.count), nullptr};
    if (in.bytes > 0) in.address += bytes_of(mine.begin - part.begin);
    const Work own{.count = even ? first : 0,
                   .root = all_.map.place_of(leader),
                   .stores = work_.stores,
                   .out = out,
                   .in = std::span(&in, 1)};
    co_await on_node(all_, even ? Collective::scatter : Collective::scatterv, own);
  }

  Members<F, W>& all_;
  const Work& work_;
  int me_, nodes_;
};

}  // namespace tutti::coll::leaders
