// SPDX-License-Identifier: BSD-3-Clause
// How a large vector is cut over the nodes: into rounds, and each round into a slice for each node.
// Operands of the nth slice meet in the order of the nodes from the nth one on, whoever sums it up
// and however it gets there. So these slices are the same for all ways.
#pragma once

#include "coll/leaders/leaders.h"

namespace tutti::coll::leaders {

class Slices {
 public:
  Slices(const NodeMap& map, const Way& way, const Work& work)
      : nodes_(static_cast<std::size_t>(map.nodes())),
        count_(work.count),
        longest_(std::max(least_grain, way.slice_bytes / work.element_bytes)),
        grain_(grain(way, work)),
        most_(nodes_ * (longest_ / grain_ * grain_)) {}

  // The round that begins at an element; there is none behind the last one.
  [[nodiscard]] Slice round(std::size_t begin) const {
    return {begin, std::min(most_, count_ - begin)};
  }
  [[nodiscard]] Slice slice(const Slice& round, int node) const {
    return cut(round, nodes_, static_cast<std::size_t>(node));
  }
  // One of so many parts, for a leader each.
  [[nodiscard]] Slice cut(const Slice& whole, std::size_t parts, std::size_t index) const {
    return coll::cut(whole, parts, index, grain_);
  }

 private:
  static constexpr std::size_t least_grain = 64;

  [[nodiscard]] std::size_t grain(const Way& way, const Work& work) const {
    constexpr std::size_t many = 16;
    const std::size_t elements = elements_of_grain(way, work.element_bytes);
    const std::size_t slice = std::min(longest_, count_ / nodes_);
    return slice >= many * elements ? elements : least_grain;
  }

  std::size_t nodes_;
  std::size_t count_;
  std::size_t longest_;  // slice, in elements
  std::size_t grain_;    // elements
  std::size_t most_;     // elements of a round
};

}  // namespace tutti::coll::leaders
