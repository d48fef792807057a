// SPDX-License-Identifier: BSD-3-Clause
// Which members of a communicator are on which node. The same on all members, however their ranks
// lie over the nodes, but for who oneself is. Nodes are numbered by their lowest ranks. Copies
// share what is the same. Where ranks are numbered one node after the other, or in turns over
// nodes, it takes memory for each node and for each rank of one (base/runs.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/runs.h"

namespace tutti::fabric {

class NodeMap {
 public:
  // `hosts` says for each rank where it is, in numbers that are equal on one node and nowhere else.
  NodeMap(const Runs& hosts, int rank);
  NodeMap(std::span<const std::int32_t> hosts, int rank) : NodeMap(Runs(hosts), rank) {}
  // The same, as another rank sees it.
  NodeMap(const NodeMap& map, int rank)
      : rank_(rank), node_(map.node_of(rank)), places_(map.places_) {}

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return static_cast<int>(places_->node_of.size()); }
  [[nodiscard]] int node() const { return node_; }  // this member's
  [[nodiscard]] int nodes() const { return static_cast<int>(places_->first.size()) - 1; }
  [[nodiscard]] int node_of(int rank) const {
    return places_->node_of[static_cast<std::size_t>(rank)];
  }
  // The ranks on a node, in rising order.
  [[nodiscard]] Runs::Part members(int node) const {
    return places_->members.part(static_cast<std::size_t>(before(node)),
                                 static_cast<std::size_t>(before(node + 1)));
  }
  // All ranks, node by node.
  [[nodiscard]] const Runs& members() const { return places_->members; }
  // Where in members() of its node a rank is.
  [[nodiscard]] int place_of(int rank) const {
    return places_->place_of[static_cast<std::size_t>(rank)];
  }
  // Who speaks for a node: the lowest of its ranks, but `root` where it is one of them; -1: none.
  [[nodiscard]] int leader(int node, int root = -1) const {
    return root >= 0 && node_of(root) == node ? root : members(node)[0];
  }
  // How many members the nodes before this one have.
  [[nodiscard]] int before(int node) const {
    return places_->first[static_cast<std::size_t>(node)];
  }
  // How many members the nodes with the most and the fewest of them have.
  [[nodiscard]] int largest() const { return places_->largest; }
  [[nodiscard]] int smallest() const { return places_->smallest; }
  // Whether the ranks of each node follow each other.
  [[nodiscard]] bool in_order() const { return places_->in_order; }

 private:
  struct Places {
    int largest = 0, smallest = 0;
    bool in_order = true;
    Runs node_of, place_of;           // by rank
    Runs members;                     // by node
    std::vector<std::int32_t> first;  // among these, of each node
  };

  int rank_, node_;
  std::shared_ptr<const Places> places_;
};

}  // namespace tutti::fabric
