// SPDX-License-Identifier: BSD-3-Clause
// Which members of a communicator are on which node. The same on all members, however their ranks
// lie over the nodes, but for who oneself is. Nodes are numbered by their lowest ranks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tutti::fabric {

class NodeMap {
 public:
  // `hosts` says for each rank where it is, in numbers that are equal on one node and nowhere else.
  NodeMap(std::span<const std::int32_t> hosts, int rank);

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return static_cast<int>(node_of_.size()); }
  [[nodiscard]] int node() const { return node_of(rank_); }  // this member's
  [[nodiscard]] int nodes() const { return static_cast<int>(first_.size()) - 1; }
  [[nodiscard]] int node_of(int rank) const { return node_of_[static_cast<std::size_t>(rank)]; }
  // The ranks on a node, in rising order.
  [[nodiscard]] std::span<const std::int32_t> members(int node) const {
    const auto begin = static_cast<std::size_t>(first_[static_cast<std::size_t>(node)]);
    return std::span(members_).subspan(
        begin, static_cast<std::size_t>(first_[static_cast<std::size_t>(node) + 1]) - begin);
  }
  // Where in members() of its node a rank is.
  [[nodiscard]] int place_of(int rank) const { return place_of_[static_cast<std::size_t>(rank)]; }
  // Who speaks for a node: the lowest of its ranks, but `root` where it is one of them; -1: none.
  [[nodiscard]] int leader(int node, int root = -1) const {
    return root >= 0 && node_of(root) == node ? root : members(node)[0];
  }
  // How many members the nodes before this one have.
  [[nodiscard]] int before(int node) const { return first_[static_cast<std::size_t>(node)]; }
  // How many members the node with the most of them has.
  [[nodiscard]] int largest() const { return largest_; }
  // Whether the ranks of each node follow each other.
  [[nodiscard]] bool in_order() const { return in_order_; }

 private:
  int rank_;
  int largest_ = 0;
  bool in_order_ = true;
  std::vector<std::int32_t> node_of_, place_of_;  // by rank
  std::vector<std::int32_t> members_, first_;     // by node
};

}  // namespace tutti::fabric
