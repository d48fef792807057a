// SPDX-License-Identifier: BSD-3-Clause
// What communicators are made of: MPI_COMM_WORLD, or a communicator of a session's group that has
// ranks on several nodes. Its ranks meet once, those of each node on a Node. What is made of it, by
// MPI_Comm_split and the like, is named alike by all members, so they need not talk.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engine/exchange.h"
#include "mpi/links.h"
#include "mpi/world.h"

namespace tutti::engine {
class Node;
}

namespace tutti::mpi {

// How the members of a communicator talk.
template <class H>
[[nodiscard]] engine::Exchange exchange_of(const Native<H>& native, World<H>& world, H comm);

// Whether members on several nodes may be a team, and then whether any two of them are on one.
enum class NodeSpread : std::uint8_t { unknown, no, apart, together };

template <class H>
class Origin {
 public:
  Origin(const Native<H>& native, World<H>& world)
      : native_(native), world_(world), links_(native) {}

  // Collective over `comm`: the ranks of each node meet, and those of several hear of each other.
  // `one_node`: all are known to be on one. `may_have_met`: ranks of a node may have met before;
  // this one has on `home`, or nullptr.
  void join(H comm, bool one_node, bool may_have_met, const std::shared_ptr<engine::Node>& home);
  // The Node lives on while there are teams on it.
  void let_go_of_node() { node_.reset(); }

  // nullptr: there is none.
  [[nodiscard]] const std::shared_ptr<engine::Node>& node() const { return node_; }
  [[nodiscard]] const char* why_no_node() const { return no_node_; }
  // This rank is the lowest one of its node.
  [[nodiscard]] bool leads_node() const { return leads_node_; }
  [[nodiscard]] SharedLinks<H>& links() { return links_; }

  // By rank of a communicator that is made of this one: the ranks on the Node, negative for those
  // that are on other nodes; empty: the MPI does not say.
  [[nodiscard]] std::vector<int> node_ranks(H comm, int size) const;
  // The ranks in the links, if all members can talk to ranks on other nodes; else empty.
  [[nodiscard]] Runs linked_ranks(H comm, int size) const;
  [[nodiscard]] NodeSpread find_spread(H comm) const;

 private:
  const Native<H>& native_;
  World<H>& world_;
  std::shared_ptr<engine::Node> node_;
  const char* no_node_ = "";
  bool leads_node_ = false;
  std::vector<std::pair<int, int>> on_node_;  // ranks of the world and of the Node, sorted
  SharedLinks<H> links_;
};

}  // namespace tutti::mpi
