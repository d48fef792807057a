// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/origin.h"

#include <algorithm>
#include <string_view>

#include "base/base.h"
#include "engine/links.h"
#include "engine/node.h"
#include "mpi/devices.h"

namespace tutti::mpi {

template <class H>
engine::Exchange exchange_of(const Native<H>& native, World<H>& world, H comm) {
  engine::Exchange group;
  native.comm_rank(comm, &group.rank);
  native.comm_size(comm, &group.size);
  group.world_rank = world.own_rank();
  group.has_devices = devices::present();
  group.allgather = [&native, comm](const void* mine, void* all, std::size_t bytes) {
    const int count = static_cast<int>(bytes);
    return native.small.allgather(mine, count, native.byte, all, count, native.byte, comm) == 0;
  };
  return group;
}

namespace {

// Collective over the group: whether `node` is one Node of all members.
bool have_met(const engine::Exchange& group, const std::shared_ptr<engine::Node>& node) {
  const std::uint64_t mine = node != nullptr ? node->id() : 0;
  std::vector<std::uint64_t> all(static_cast<std::size_t>(group.size));
  return group.allgather(&mine, all.data(), sizeof mine) && mine != 0 &&
         std::ranges::count(all, mine) == group.size;
}

}  // namespace

template <class H>
void Origin<H>::join(H comm, bool one_node, bool may_have_met,
                     const std::shared_ptr<engine::Node>& home) {
  H neighbours = comm;
  int rank = 0, size = 0, met = 0;  // on this node
  native_.comm_rank(comm, &rank);
  native_.comm_size(comm, &size);
  const auto color = one_node ? 0 : static_cast<int>(engine::host_id() >> 33);
  bool joined = false;
  if (one_node || native_.comm_split(comm, color, rank, &neighbours) == 0) {
    const engine::Exchange group = exchange_of(native_, world_, neighbours);
    leads_node_ = group.rank == 0;
    if (may_have_met && have_met(group, home)) {
      node_ = home;
      met = group.size;
    } else {
      const Status status = engine::Node::join(group, node_);
      if (!status.ok()) log::info("rank %d: no node segment: %s", group.world_rank, status.what);
      no_node_ = status.ok() ? "" : status.what;
      joined = status.ok();
      met = joined ? node_->size() : 0;
    }
    if (!one_node) native_.comm_free(&neighbours);
  }
  for (int each = 0; node_ != nullptr && each < node_->size(); ++each)
    on_node_.emplace_back(node_->member(each).rank, each);
  std::ranges::sort(on_node_);
  if (met == size) return;
  const std::string_view nodes = options().nodes;
  const bool contested = nodes == "auto", served = contested || nodes == "1";
  const int node = node_ != nullptr ? node_->member(0).rank : -1;
  const bool shares_core = node_ != nullptr && node_->oversubscribed();
  const bool has_core = node_ != nullptr && node_->progress().is_served();
  links_.open(comm, served ? node : -1, contested, shares_core, has_core, engine::way_of_options(),
              std::min<std::size_t>(options().message, limits::longest_message_bytes),
              engine::Node::claim(node));
  // Not one that has teams already.
  if (joined && links_.shares_cores()) node_->share_cores();
}

template <class H>
std::vector<int> Origin<H>::node_ranks(H comm, int size) const {
  std::vector<int> ranks = world_.world_ranks(comm, size);
  for (int& rank : ranks) {
    const auto found = std::ranges::lower_bound(on_node_, std::pair{rank, 0});
    rank = found != on_node_.end() && found->first == rank ? found->second : -1;
  }
  return ranks;
}

template <class H>
Runs Origin<H>::linked_ranks(H comm, int size) const {
  const Runs& hosts = links_.hosts();
  if (hosts.empty()) return {};
  Runs ranks = links_.ranks(comm, size);
  const bool all_may = std::ranges::all_of(
      ranks, [&](int rank) { return rank >= 0 && hosts[static_cast<std::size_t>(rank)] >= 0; });
  if (!all_may) ranks.clear();
  return ranks;
}

template <class H>
NodeSpread Origin<H>::find_spread(H comm) const {
  if (links_.hosts().empty()) return NodeSpread::no;
  int size = 0, inter = 0;
  native_.comm_test_inter(comm, &inter);
  native_.comm_size(comm, &size);
  if (inter) return NodeSpread::no;
  const Runs ranks = linked_ranks(comm, size);
  if (ranks.empty()) return NodeSpread::no;
  std::vector<std::int32_t> hosts;
  for (const int rank : ranks) hosts.push_back(links_.hosts()[static_cast<std::size_t>(rank)]);
  std::ranges::sort(hosts);
  if (hosts.front() == hosts.back()) return NodeSpread::no;
  return std::ranges::adjacent_find(hosts) == hosts.end() ? NodeSpread::apart
                                                          : NodeSpread::together;
}

template engine::Exchange exchange_of(const Native<int>&, World<int>&, int);
template engine::Exchange exchange_of(const Native<void*>&, World<void*>&, void*);
template class Origin<int>;
template class Origin<void*>;

}  // namespace tutti::mpi
