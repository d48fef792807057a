// SPDX-License-Identifier: BSD-3-Clause
// How long messages take in the simulated network, and that the library's collectives of several
// nodes give the right results there.
#include "lab/cluster.h"

#include <gtest/gtest.h>

#include "support/leaders.h"
#include "support/plans.h"
#include "support/scene.h"

namespace tutti::test {
namespace {

using lab::Cluster;
using lab::ClusterFabric;
using lab::ClusterMachine;
using lab::ClusterWire;
using lab::NodeMap;
using lab::Task;
using lab::Ticket;

constexpr ClusterMachine machine{.bytes_per_ns = 10,
                                 .flag_ns = 90,
                                 .network = {.bytes_per_ns = 2,
                                             .latency_ns = 1000,
                                             .hop_ns = 300,
                                             .startup_ns = 50,
                                             .call_ns = 20,
                                             .eager_bytes = 4000}};

// Two ranks a node.
NodeMap pairs(int nodes) {
  std::vector<std::int32_t> hosts;
  for (int rank = 0; rank < 2 * nodes; ++rank) hosts.push_back(rank / 2);
  return {hosts, 0};
}

std::int64_t at_once(int) { return 0; }

// One message, and when its receiver has it.
std::int64_t message_ns(const ClusterMachine& of, int nodes, int from, int to, std::size_t bytes,
                        std::int64_t receiver_ns = 0) {
  const NodeMap places = pairs(nodes);
  Cluster cluster(of, places, places);
  std::vector<std::byte> sent(bytes, std::byte{7}), got(bytes);
  const auto body = [&](int rank) -> Task {
    Ticket ticket = 0;
    if (rank == from) ticket = cluster.wire(rank).send(to, sent.data(), bytes);
    if (rank == to) ticket = cluster.wire(rank).receive(from, got.data(), bytes);
    co_await cluster.wire(rank).done(ticket);
  };
  EXPECT_TRUE(cluster.run(body, [&](int rank) { return rank == to ? receiver_ns : 0; }));
  EXPECT_EQ(got, sent);
  EXPECT_EQ(cluster.messages(), places.node_of(from) != places.node_of(to));
  return cluster.end_ns(to);
}

TEST(ClusterNetwork, TakesTheTimeThatItSays) {
  // The call, what a NIC takes for any message, the latency.
  EXPECT_EQ(message_ns(machine, 2, 0, 2, 0), 20 + 1000 + 50);
  // Two copies by cores, and the NIC's bandwidth.
  EXPECT_EQ(message_ns(machine, 2, 0, 2, 4000), 20 + 400 + 1000 + 2000 + 400);
  // The receiver is told, and says that it is there.
  EXPECT_EQ(message_ns(machine, 2, 0, 2, 8000), 20 + 1000 + 1000 + 1000 + 4000);
  EXPECT_EQ(message_ns(machine, 2, 0, 2, 8000, 5000), 5000 + 20 + 1000 + 1000 + 4000);
  // Within a node.
  EXPECT_EQ(message_ns(machine, 2, 0, 1, 0), 20 + 90);
  EXPECT_EQ(message_ns(machine, 2, 0, 1, 8000), 20 + 90 + 90 + 800 + 90);
  // Between two switches, whose links may be fewer.
  ClusterMachine tree = machine;
  tree.network.switch_nodes = 2;
  EXPECT_EQ(message_ns(tree, 4, 0, 2, 0), 20 + 1000 + 50);
  EXPECT_EQ(message_ns(tree, 4, 0, 4, 0), 20 + 1300 + 50);
}

// All ranks of the first nodes send to a rank of their own on the others.
std::int64_t flood_ns(const ClusterMachine& of, int nodes, std::size_t bytes) {
  const NodeMap places = pairs(nodes);
  Cluster cluster(of, places, places);
  std::vector<std::byte> sent(bytes);
  std::vector<std::vector<std::byte>> got(static_cast<std::size_t>(places.size()), sent);
  const auto body = [&](int rank) -> Task {
    const int half = places.size() / 2;
    ClusterWire& wire = cluster.wire(rank);
    Ticket ticket = 0;
    if (rank < half)
      ticket = wire.send(rank + half, sent.data(), bytes);
    else
      ticket = wire.receive(rank - half, got[static_cast<std::size_t>(rank)].data(), bytes);
    co_await wire.done(ticket);
  };
  EXPECT_TRUE(cluster.run(body, at_once));
  return cluster.end_ns();
}

TEST(ClusterNetwork, IsSharedByThoseWhoSend) {
  // A node's two messages leave one after the other.
  EXPECT_EQ(flood_ns(machine, 2, 0), 20 + 1000 + 2 * 50);
  EXPECT_EQ(flood_ns(machine, 2, 8000), 20 + 3 * 1000 + 2 * 4000);
  // A link that has as much bandwidth as the nodes of a switch changes nothing, but for the hops.
  ClusterMachine tree = machine;
  tree.network.switch_nodes = 2;
  EXPECT_EQ(flood_ns(tree, 4, 8000), 20 + 3 * 1300 + 2 * 4000);
  // With a quarter of it, four messages take 8000 ns each.
  tree.network.taper = 4;
  EXPECT_EQ(flood_ns(tree, 4, 8000), 20 + 3 * 1300 + 4 * 8000);
}

TEST(ClusterNetwork, SaysThatRanksWaitForEver) {
  const NodeMap places = pairs(1);
  Cluster cluster(machine, places, places);
  std::byte got{};
  const auto body = [&](int rank) -> Task {
    if (rank == 0) co_await cluster.wire(0).done(cluster.wire(0).receive(1, &got, 1));
  };
  EXPECT_FALSE(cluster.run(body, at_once));
}

// Real scripts, on nodes that share memory and on ranks that are each alone.
TEST(Cluster, GivesTheSequentialResults) {
  for (const Collective collective : led<ClusterFabric, ClusterWire>())
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
      std::mt19937_64 random(seed);
      const int ranks = 2 + static_cast<int>(random() % 11);
      const std::vector<std::int32_t> hosts = draw_hosts(random, ranks, wants_order(collective));
      std::vector<std::int32_t> alone(hosts.size());
      std::iota(alone.begin(), alone.end(), 0);
      const NodeMap places(hosts, 0), groups(seed % 2 == 0 ? alone : hosts, 0);
      Scene scene(draw_led_script<ClusterFabric, ClusterWire>(random, collective, hosts, 1));
      Cluster cluster(machine, places, groups);
      std::vector<std::shared_ptr<const choice::Plans>> plans;
      std::vector<coll::leaders::Members<ClusterFabric, ClusterWire>> members;
      std::vector<coll::Work> works;
      for (int rank = 0; rank < ranks; ++rank) {
        plans.push_back(usual_plans<ClusterFabric>(cluster.fabric(rank).size()));
        members.push_back({cluster.fabric(rank),
                           cluster.wire(rank),
                           cluster.map(rank),
                           *plans.back(),
                           false,
                           {.least_piece_bytes = 512,
                            .start_bytes = 64,
                            .halved_bytes = 4096,
                            .slice_bytes = 4096,
                            .leaders = 1 + static_cast<int>(seed % 3),
                            .part_bytes = 256,
                            .block_part_bytes = 256}});
        works.push_back(scene.enter(0, rank));
      }
      const Collective first = scene.script().ops[0].algorithm.collective;
      const auto body = [&](int rank) {
        const auto i = static_cast<std::size_t>(rank);
        members[i].fabric.begin(1);
        return coll::leaders::run(members[i], first, works[i]);
      };
      ASSERT_TRUE(cluster.run(body, at_once)) << coll::name_of(first) << " " << seed;
      for (int rank = 0; rank < ranks; ++rank)
        scene.leave(0, rank, works[static_cast<std::size_t>(rank)]);
      ASSERT_EQ(scene.verdict(), "") << coll::name_of(first) << " " << seed;
    }
}

}  // namespace
}  // namespace tutti::test
