// SPDX-License-Identifier: BSD-3-Clause
// What ranks that know no nodes would send, against counts that textbooks give.
#include "engine/without_leaders.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace tutti::test {
namespace {

using coll::Block;
using coll::Work;
using engine::sent_without_leaders;
using fabric::NodeMap;
using fabric::Sent;

constexpr std::size_t kib = 1024;

// Whose ranks follow each other, `each` on a node.
std::vector<std::int32_t> hosts_of(int ranks, int each) {
  std::vector<std::int32_t> hosts;
  for (int rank = 0; rank < ranks; ++rank) hosts.push_back(rank / each);
  return hosts;
}

// Of all ranks, each of whose blocks has so many bytes.
Sent sum_of(Collective collective, const std::vector<std::int32_t>& hosts, std::size_t bytes,
            int root = 0) {
  const std::vector<Block> blocks(hosts.size(), {nullptr, bytes});
  Sent sum;
  for (int rank = 0; rank < static_cast<int>(hosts.size()); ++rank) {
    Work work{.count = bytes, .root = root, .out = blocks, .in = blocks};
    if (collective == Collective::gatherv) work.out = std::span(blocks).first(1);
    sum += sent_without_leaders(collective, work, {hosts, rank});
  }
  return sum;
}

// Where each of eight ranks is on a node of its own.
TEST(WithoutLeaders, SendsWhatTextbooksSay) {
  const std::vector<std::int32_t> hosts = hosts_of(8, 1);
  const auto sends = [&](Collective collective, std::size_t bytes, std::uint64_t messages,
                         std::uint64_t all_bytes) {
    const Sent sent = sum_of(collective, hosts, bytes);
    EXPECT_EQ(sent.messages, messages) << name_of(collective) << " of " << bytes;
    EXPECT_EQ(sent.bytes, all_bytes) << name_of(collective) << " of " << bytes;
  };
  using enum Collective;
  sends(barrier, 0, 24, 0);
  sends(bcast, 5, 7, 35);
  sends(reduce, 5, 7, 35);
  sends(gather, 5, 7, 60);  // a block goes as many ways as its rank has ones
  sends(scatter, 5, 7, 60);
  sends(gatherv, 5, 7, 35);
  sends(scatterv, 5, 7, 35);
  sends(allreduce, 8, 24, 24 * 8);
  sends(allreduce, 64 * kib, 48, 14 * 64 * kib);
  sends(reduce_scatter, 64 * kib, 24, 7 * 64 * kib);
  sends(reduce_scatter_block, 64 * kib, 24, 7 * 64 * kib);
  for (const Collective each : {allgather, allgatherv}) {
    sends(each, 8, 24, 56 * 8);
    sends(each, 64 * kib, 56, 56 * 64 * kib);
  }
  for (const Collective each : {alltoall, alltoallv, alltoallw}) sends(each, 8, 56, 56 * 8);
  for (const Collective each : {scan, exscan}) sends(each, 8, 17, 17 * 8);
}

TEST(WithoutLeaders, CountsWhatLeavesANode) {
  using enum Collective;
  const std::vector<std::int32_t> hosts = hosts_of(16, 4), one = hosts_of(16, 16);
  EXPECT_EQ(sum_of(alltoall, hosts, 8).messages, 192U);
  EXPECT_EQ(sum_of(allreduce, hosts, 8).messages, 32U);  // two rounds of four
  EXPECT_EQ(sum_of(bcast, hosts, 8).messages, 3U);
  EXPECT_EQ(sum_of(allgather, hosts, 64 * kib).messages, 4U * 15);
  for (int i = 0; i < collective_count; ++i)
    EXPECT_EQ(sum_of(static_cast<Collective>(i), one, 100 * kib).messages, 0U);
}

// Any number of ranks and any root: along a tree each rank but the root is sent to, or sends, once.
TEST(WithoutLeaders, SendsToAllOfAnyNumberOfRanks) {
  for (int ranks = 1; ranks <= 20; ++ranks) {
    const std::vector<std::int32_t> hosts = hosts_of(ranks, 1);
    const auto others = static_cast<std::uint64_t>(ranks - 1);
    for (int root = 0; root < ranks; ++root)
      for (const Collective each : {Collective::bcast, Collective::reduce, Collective::gather,
                                    Collective::scatter, Collective::gatherv, Collective::scatterv})
        EXPECT_EQ(sum_of(each, hosts, 5, root).messages, others)
            << name_of(each) << ", " << ranks << " ranks, root " << root;
    // Each hears all blocks but its own, by rounds and along the ring.
    if (ranks > 1) {
      EXPECT_EQ(sum_of(Collective::allgather, hosts, 100 * kib).bytes,
                others * static_cast<std::uint64_t>(ranks) * 100 * kib);
      EXPECT_EQ(sum_of(Collective::allgather, hosts, 64).bytes,
                others * static_cast<std::uint64_t>(ranks) * 64);
    }
  }
}

// The first ones meet in pairs, of which one takes part.
TEST(WithoutLeaders, PairsRanksThatAreNoPowerOfTwo) {
  const Sent sent = sum_of(Collective::allreduce, hosts_of(6, 1), 8);
  EXPECT_EQ(sent.messages, 2U + 4 * 2 + 2);
  // Each pair is on a node. Two of four that take part are on one, too: they meet in a round.
  EXPECT_EQ(sum_of(Collective::allreduce, hosts_of(6, 2), 8).messages, 2U + 4);
}

TEST(WithoutLeaders, SendsNoEmptyBlocks) {
  const std::vector<Block> blocks = {{nullptr, 7}, {nullptr, 0}, {nullptr, 9}};
  const Work work{.root = 0, .out = blocks, .in = blocks};
  const NodeMap map(hosts_of(3, 1), 0);
  for (const Collective each : {Collective::alltoallv, Collective::scatterv}) {
    const Sent sent = sent_without_leaders(each, work, map);
    EXPECT_EQ(sent.messages, 1U);
    EXPECT_EQ(sent.bytes, 9U);
  }
}

}  // namespace
}  // namespace tutti::test
