// SPDX-License-Identifier: BSD-3-Clause
#include "simulate/cluster.h"

#include <algorithm>
#include <map>
#include <memory>

#include "coll/leaders/rows.h"
#include "coll/plans.h"

namespace tutti::simulate {
namespace {

using coll::Collective;
using lab::Cluster;
using lab::ClusterFabric;
using lab::ClusterWire;
using lab::NodeMap;
using Members = coll::leaders::Members<ClusterFabric, ClusterWire>;

constexpr int root = 0;
constexpr std::size_t element_bytes = sizeof(std::uint64_t);
// More bytes than that in all, and ranks share their buffers: then results are not looked at.
constexpr std::size_t most_bytes = std::size_t{1} << 30;

// Element i of what a rank sends; sums of them are easy to say.
std::uint64_t sent(std::size_t rank, std::size_t i) { return rank * 1'000'003 + i; }
std::uint64_t sum_of(std::size_t ranks, std::size_t i) {
  return ranks * (ranks - 1) / 2 * 1'000'003 + ranks * i;
}

// What ranks send and receive, and what they have to have then.
class Buffers {
 public:
  Buffers(Collective collective, std::size_t bytes, std::size_t ranks)
      : collective_(collective),
        count_(std::max<std::size_t>(1, bytes / element_bytes)),
        ranks_(ranks),
        own_((length(true) + (ranks - 1) * length(false)) * element_bytes <= most_bytes),
        members_(own_ ? ranks : 1) {
    for (std::size_t rank = 0; rank < members_.size(); ++rank) {
      Member& mine = members_[rank];
      mine.send.resize(length(sends_all(), is_root(rank)));
      mine.recv.resize(length(receives_all(), is_root(rank)));
      std::vector<std::uint64_t>& filled = collective == Collective::bcast ? mine.recv : mine.send;
      if (collective != Collective::bcast || is_root(rank))
        for (std::size_t i = 0; own_ && i < filled.size(); ++i) filled[i] = sent(rank, i);
      mine.out = blocks_of(mine.send);
      mine.in = blocks_of(mine.recv);
    }
    for (std::size_t rank = 0; collective == Collective::reduce_scatter_block && rank < ranks;
         ++rank)
      parts_.push_back({rank * count_, count_});
  }

  [[nodiscard]] bool are_own() const { return own_; }

  [[nodiscard]] coll::Work work(std::size_t rank) {
    Member& mine = members_[own_ ? rank : 0];
    coll::Work work{.count = count_,
                    .element_bytes = element_bytes,
                    .kernel = reduce::find(reduce::Op::sum, reduce::Type::u64),
                    .root = root,
                    .parts = parts_};
    if (collective_ == Collective::reduce_scatter_block) work.count = count_ * ranks_;
    switch (collective_) {
      case Collective::gather:
        work.out = mine.out;
        if (rank == root) work.in = mine.in;
        break;
      case Collective::scatter:
        if (rank == root) work.out = mine.out;
        work.in = mine.in;
        break;
      case Collective::allgather:
      case Collective::alltoall:
        work.out = mine.out;
        work.in = mine.in;
        break;
      default:
        work.send = mine.send.data();
        work.recv = mine.recv.data();
    }
    return work;
  }

  [[nodiscard]] bool are_right() const {
    for (std::size_t rank = 0; own_ && rank < ranks_; ++rank) {
      const bool only_root = collective_ == Collective::reduce || collective_ == Collective::gather;
      if (only_root && rank != root) continue;
      const std::vector<std::uint64_t>& got = members_[rank].recv;
      for (std::size_t i = 0; i < got.size(); ++i)
        if (got[i] != expected(rank, i)) return false;
    }
    return true;
  }

 private:
  struct Member {
    std::vector<std::uint64_t> send, recv;
    std::vector<coll::Block> out, in;
  };
  static bool is_root(std::size_t rank) { return rank == root; }
  // Who has something for, or of, each rank.
  enum class All : std::uint8_t { nobody, the_root, everyone };
  [[nodiscard]] All sends_all() const {
    switch (collective_) {
      case Collective::scatter:
        return All::the_root;
      case Collective::alltoall:
      case Collective::reduce_scatter_block:
        return All::everyone;
      default:
        return All::nobody;
    }
  }
  [[nodiscard]] All receives_all() const {
    switch (collective_) {
      case Collective::gather:
        return All::the_root;
      case Collective::allgather:
      case Collective::alltoall:
        return All::everyone;
      default:
        return All::nobody;
    }
  }
  // In elements: of one buffer, and of both.
  [[nodiscard]] std::size_t length(All who, bool at_root) const {
    const bool all = who == All::everyone || (who == All::the_root && at_root);
    return collective_ == Collective::barrier ? 0 : all ? count_ * ranks_ : count_;
  }
  [[nodiscard]] std::size_t length(bool at_root) const {
    return length(sends_all(), at_root) + length(receives_all(), at_root);
  }
  [[nodiscard]] std::vector<coll::Block> blocks_of(std::vector<std::uint64_t>& data) const {
    std::vector<coll::Block> blocks;
    for (std::size_t at = 0; at < data.size(); at += count_)
      blocks.push_back({reinterpret_cast<std::byte*>(&data[at]), count_ * element_bytes});
    return blocks;
  }
  [[nodiscard]] std::uint64_t expected(std::size_t rank, std::size_t i) const {
    const std::size_t block = i / count_, inner = i % count_;
    switch (collective_) {
      case Collective::bcast:
        return sent(root, i);
      case Collective::gather:
      case Collective::allgather:
        return sent(block, inner);
      case Collective::scatter:
        return sent(root, rank * count_ + i);
      case Collective::alltoall:
        return sent(block, rank * count_ + inner);
      case Collective::reduce_scatter_block:
        return sum_of(ranks_, rank * count_ + i);
      case Collective::scan:
        return sum_of(rank + 1, i);
      default:
        return sum_of(ranks_, i);
    }
  }

  Collective collective_;
  std::size_t count_, ranks_;
  bool own_;
  std::vector<Member> members_;
  std::vector<coll::Slice> parts_;
};

// Each rank as if it were alone.
NodeMap flat(const NodeMap& places) {
  std::vector<std::int32_t> alone;
  for (int rank = 0; rank < places.size(); ++rank) alone.push_back(rank);
  return {alone, 0};
}

}  // namespace

ClusterOutcome try_case(const ClusterRequest& request, const ClusterCase& what) {
  const NodeMap places(request.hosts, 0);
  const NodeMap groups = what.scheme == Scheme::flat ? flat(places) : places;
  const auto ranks = static_cast<std::size_t>(places.size());
  Cluster cluster(request.machine, places, groups);
  Buffers buffers(request.collective, what.bytes, ranks);
  std::map<int, choice::Plans> plans;  // by the members of a group
  std::vector<Members> members;
  std::vector<coll::Work> works;
  for (int rank = 0; rank < places.size(); ++rank) {
    ClusterFabric& fabric = cluster.fabric(rank);
    auto known = plans.find(fabric.size());
    if (known == plans.end())
      known =
          plans
              .emplace(fabric.size(), coll::make_plans<ClusterFabric>(fabric.size(), choice::usual))
              .first;
    coll::leaders::Way way = what.way;
    way.leaders = std::min(way.leaders, groups.smallest());
    members.push_back({.fabric = fabric,
                       .wire = cluster.wire(rank),
                       .map = cluster.map(rank),
                       .plans = known->second,
                       .way = way});
    works.push_back(buffers.work(static_cast<std::size_t>(rank)));
  }
  const auto algorithm =
      coll::leaders::algorithm_of<ClusterFabric, ClusterWire>(request.collective);
  const auto start = [&](int rank) {
    const bool late = places.node_of(rank) + 1 == places.nodes();
    return late ? request.late_ns : 0;
  };
  const auto body = [&](int rank) {
    const auto i = static_cast<std::size_t>(rank);
    members[i].fabric.begin(1);
    return algorithm(members[i], works[i]);
  };
  const bool ended = cluster.run(body, start);
  return {.right = ended && buffers.are_right(),
          .compared = buffers.are_own(),
          .ns = cluster.end_ns() - request.late_ns,
          .messages = cluster.messages(),
          .bytes = cluster.bytes()};
}

bool answer(const ClusterRequest& request, probe::Json& json) {
  const NodeMap places(request.hosts, 0);
  json.object()
      .add("collective", coll::name_of(request.collective))
      .add("nodes", places.nodes())
      .add("ranks", places.size())
      .add("largest", places.largest())
      .add("smallest", places.smallest())
      .add("in_order", places.in_order())
      .add("late_ns", request.late_ns);
  const lab::ClusterMachine& machine = request.machine;
  json.key("machine")
      .object()
      .add("bytes_per_ns", machine.bytes_per_ns)
      .add("flag_ns", machine.flag_ns)
      .add("nic_bytes_per_ns", machine.network.bytes_per_ns)
      .add("latency_ns", machine.network.latency_ns)
      .add("hop_ns", machine.network.hop_ns)
      .add("startup_ns", machine.network.startup_ns)
      .add("call_ns", machine.network.call_ns)
      .add("eager_bytes", static_cast<std::uint64_t>(machine.network.eager_bytes))
      .add("switch_nodes", machine.network.switch_nodes)
      .add("taper", machine.network.taper)
      .end_object();
  json.key("cases").array();
  for (const ClusterCase& each : request.cases) {
    const ClusterOutcome outcome = try_case(request, each);
    if (!outcome.right) return false;
    json.object()
        .add("bytes", static_cast<std::uint64_t>(each.bytes))
        .add("scheme", each.scheme == Scheme::flat ? "flat" : "leaders")
        .add("leaders", each.way.leaders)
        .add("slice_bytes", static_cast<std::uint64_t>(each.way.slice_bytes))
        .add("packed_bytes", static_cast<std::uint64_t>(each.way.packed_bytes))
        .add("forwarded_bytes", static_cast<std::uint64_t>(each.way.forwarded_bytes))
        .add("ns", outcome.ns)
        .add("messages", outcome.messages)
        .add("message_bytes", outcome.bytes)
        .add("compared", outcome.compared)
        .end_object();
  }
  json.end_array().end_object();
  return true;
}

}  // namespace tutti::simulate
