// SPDX-License-Identifier: BSD-3-Clause
#include "simulate/cluster.h"

#include <algorithm>
#include <map>
#include <memory>

#include "coll/leaders/rows.h"
#include "coll/plans.h"
#include "simulate/buffers.h"

namespace tutti::simulate {
namespace {

using coll::Collective;
using lab::Cluster;
using lab::ClusterFabric;
using lab::ClusterWire;
using lab::NodeMap;
using Members = coll::leaders::Members<ClusterFabric, ClusterWire>;

// More bytes of buffers than that in all, and ranks share them.
constexpr std::size_t most_bytes = std::size_t{1} << 30;

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
  Buffers buffers(request.collective, what.bytes, ranks, most_bytes);
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
    members.push_back({.fabric = fabric,
                       .wire = cluster.wire(rank),
                       .map = cluster.map(rank),
                       .plans = known->second,
                       .way = what.way});
    works.push_back(buffers.work(static_cast<std::size_t>(rank)));
  }
  // The same on all ranks; to ask each of many would take longer than the call.
  const auto& row = coll::leaders::row_of<ClusterFabric, ClusterWire>(
      request.collective, cluster.map(0), what.way, works[0]);
  const auto start = [&](int rank) {
    const bool late = places.node_of(rank) + 1 == places.nodes();
    return late ? request.late_ns : 0;
  };
  const auto body = [&](int rank) {
    const auto i = static_cast<std::size_t>(rank);
    members[i].fabric.begin(1);
    return row.run(members[i], works[i]);
  };
  const bool ended = cluster.run(body, start);
  return {.right = ended && buffers.are_right(),
          .compared = buffers.are_own(),
          .ns = cluster.end_ns() - request.late_ns,
          .messages = cluster.messages(),
          .bytes = cluster.bytes(),
          .algorithm = row.name};
}

namespace {

// False: it was not right.
bool add_case(const ClusterRequest& request, const ClusterCase& what, probe::Json& json) {
  const ClusterOutcome outcome = try_case(request, what);
  if (!outcome.right) return false;
  json.object()
      .add("bytes", static_cast<std::uint64_t>(what.bytes))
      .add("scheme", what.scheme == Scheme::flat ? "flat" : "leaders")
      .add("algorithm", outcome.algorithm)
      .add("leaders", what.way.leaders)
      .add("slice_bytes", static_cast<std::uint64_t>(what.way.slice_bytes))
      .add("packed_bytes", static_cast<std::uint64_t>(what.way.packed_bytes))
      .add("forwarded_bytes", static_cast<std::uint64_t>(what.way.forwarded_bytes))
      .add("ns", outcome.ns)
      .add("messages", outcome.messages)
      .add("message_bytes", outcome.bytes)
      .add("compared", outcome.compared)
      .end_object();
  return true;
}

// Begins the answer.
void describe(const ClusterRequest& request, probe::Json& json) {
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
}

}  // namespace

bool simulate_cluster(const ClusterRequest& request, probe::Json& json) {
  describe(request, json);
  json.key("cases").array();
  for (const ClusterCase& each : request.cases)
    if (!add_case(request, each, json)) return false;
  json.end_array().end_object();
  return true;
}

bool explain_leaders(const ClusterRequest& request, probe::Json& json) {
  const NodeMap map(request.hosts, 0);
  ClusterCase what{.bytes = request.cases[0].bytes,
                   .way = coll::leaders::way_of_options<ClusterFabric, ClusterWire>()};
  const auto ranks = static_cast<std::size_t>(map.size());
  // What all members know alike of the call: the rows ask for no more.
  const std::vector<coll::Block> blocks(ranks, {nullptr, what.bytes});
  const bool is_vector_of_blocks = request.collective == Collective::reduce_scatter_block;
  const coll::Work work{.count = is_vector_of_blocks ? ranks * what.bytes : what.bytes,
                        .in = blocks};
  const auto& taken =
      coll::leaders::row_of<ClusterFabric, ClusterWire>(request.collective, map, what.way, work);
  const auto rows = coll::leaders::rows_of<ClusterFabric, ClusterWire>(request.collective);
  const auto fits = [&](const auto& row) { return row.fits(map, what.way, work); };
  describe(request, json);
  json.add("bytes", static_cast<std::uint64_t>(what.bytes))
      .add("forced", choice::wanted(request.collective))
      .key("algorithms")
      .array();
  for (const auto& row : rows)
    json.object()
        .add("name", row.name)
        .add("description", row.description)
        .add("fits", fits(row))
        .add("chosen", &row == &taken)
        .end_object();
  json.end_array().key("cases").array();
  auto& forced = what.way.forced[static_cast<std::size_t>(request.collective)];
  for (std::size_t i = 0; request.simulated && i < rows.size(); ++i) {
    forced = static_cast<std::uint8_t>(i + 1);
    if (fits(rows[i]) && !add_case(request, what, json)) return false;
  }
  forced = 0;
  what.scheme = Scheme::flat;
  if (request.simulated && !add_case(request, what, json)) return false;
  json.end_array().end_object();
  return true;
}

}  // namespace tutti::simulate
