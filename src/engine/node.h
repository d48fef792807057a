// SPDX-License-Identifier: BSD-3-Clause
// The processes of one node and one job: their segment, how they reach each other's memory, and how
// they wait for each other. Made once, before any team.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/status.h"
#include "choice/plans.h"
#include "coll/work.h"
#include "engine/exchange.h"
#include "memory/memory.h"
#include "progress/settings.h"
#include "segment/segment.h"
#include "topology/topology.h"

namespace tutti::engine {

class Node {
 public:
  struct Member {
    std::int32_t pid = 0;
    std::int32_t rank = 0;  // Exchange::world_rank
  };

  Node() = default;
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // Collective over the group: its members on this host become a Node. The outcome is the same on
  // all members of a host. When it is not ok, it says what this process saw.
  static Status join(const Exchange& group, std::shared_ptr<Node>& node);

  // Equal on the members of one Node and on nobody else; never 0.
  [[nodiscard]] std::uint64_t id() const { return id_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return static_cast<int>(members_.size()); }
  [[nodiscard]] const Member& member(int rank) const {
    return members_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] const memory::PeerMemory& reach(int rank) const {
    return reaches_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] segment::Segment& segment() { return segment_; }
  [[nodiscard]] memory::Transports transports() const { return transports_; }
  // What only the kernel can copy may go through the segment.
  [[nodiscard]] bool may_cico() const { return transports_.ways.has(memory::Transport::staged); }
  [[nodiscard]] segment::WaitPolicy wait_policy() const { return wait_policy_; }
  [[nodiscard]] bool oversubscribed() const { return ranks_per_core_ > 1; }
  // On the cores that this process may use: `node` is any number of this node.
  [[nodiscard]] static topology::Claim claim(int node);
  // Ranks of other nodes need these cores, too. To be called by all members, before there are
  // teams.
  void share_cores() { wait_as(std::max(ranks_per_core_, 2.0), false); }
  // TUTTI_CHECK and TUTTI_ORDER, which a launcher may have given to some ranks alone.
  [[nodiscard]] bool strict() const { return strict_; }
  [[nodiscard]] coll::Order order() const { return order_; }
  // The algorithms that the options of any rank of the node name.
  [[nodiscard]] const choice::Forced& forced() const { return forced_; }
  // The algorithms on a node that this process's options name. Of names that there are neither here
  // nor between nodes it warns where `warns`, once.
  [[nodiscard]] static choice::Forced forced_by_options(bool warns);
  // The plans of teams of so many ranks.
  [[nodiscard]] std::shared_ptr<const choice::Plans> plans(int ranks);
  // Some members had a runtime of GPUs when they joined.
  [[nodiscard]] bool has_devices() const { return has_devices_; }
  // How --comm-cores was carried out, for the report: "progress threads on core 1, ranks on core
  // 0".
  [[nodiscard]] const char* kept_free() const { return kept_free_.c_str(); }
  // Where this process's progress thread belongs.
  [[nodiscard]] const progress::Settings& progress() const { return progress_; }
  // Lets go of the memory of members whose process has ended or has called exec. Else this
  // process's windows would keep it alive.
  void look_for_losses();
  void lose(int rank) { reaches_[static_cast<std::size_t>(rank)].lose(); }
  // Lets go of the memory of all others. To be called when nothing of this node is called any more.
  void let_go_of_peers();
  // Why the ranks of this node cannot use a way, "" if they can; as this process saw it.
  [[nodiscard]] const char* why_not(memory::Transport transport) const;

 private:
  class Joining;  // join(), step by step

  // The same on all members, as they all have the same of `asymmetric_fence`.
  void wait_as(double ranks_per_core, bool asymmetric_fence);

  std::uint64_t id_ = 0;
  int rank_ = 0;
  std::vector<Member> members_;
  std::vector<memory::PeerMemory> reaches_;
  memory::Windows windows_;  // of all of them
  segment::Segment segment_;
  memory::Transports transports_;
  segment::WaitPolicy wait_policy_;
  double ranks_per_core_ = 1;
  bool strict_ = false, has_devices_ = false;
  coll::Order order_ = coll::Order::tree;
  // What algorithms cost on this machine, and which ones are forced; the same on all members.
  choice::Costs costs_ = choice::usual;
  choice::Forced forced_{};
  std::mutex planning_;
  std::map<int, std::shared_ptr<const choice::Plans>> plans_;  // under planning_
  progress::Settings progress_;
  std::string kept_free_;
  std::mutex looking_for_losses_;
};

// Equal for processes that may share a Node: same boot of the same kernel, same host name (so that
// hosts played by namespaces on one machine stay apart, as for the MPI).
[[nodiscard]] std::uint64_t host_id();
// The same on all hosts that are containers of one machine.
[[nodiscard]] std::uint64_t machine_id();

}  // namespace tutti::engine
