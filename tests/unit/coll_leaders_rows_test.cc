// SPDX-License-Identifier: BSD-3-Clause
// Which algorithm a collective over nodes takes, by its size, the nodes, and who shares a core.
#include <gtest/gtest.h>

#include "lab/sim_wire.h"
#include "support/leaders.h"

namespace tutti::test {
namespace {

using coll::leaders::Pipeline;
using lab::SimFabric;
using lab::SimWire;

// A chain in pieces is as fast as the longest stage of it. Fewer bytes go down a tree.
TEST(Pipelines, SuitTheirLength) {
  const auto is = [](std::size_t bytes, int nodes, std::size_t piece, bool chain) {
    const Pipeline pipeline({}, bytes, nodes, Pipeline::Operands::meet);
    return pipeline.piece_bytes == piece && pipeline.chain == chain;
  };
  constexpr std::size_t kib = 1024, mib = kib * kib;
  EXPECT_TRUE(is(0, 4, 32 * kib, false));
  EXPECT_TRUE(is(64 * kib, 4, 32 * kib, false));
  EXPECT_TRUE(is(96 * kib, 4, 32 * kib, true));
  EXPECT_TRUE(is(mib, 4, 64 * kib, true));
  EXPECT_TRUE(is(mib, 64, 32 * kib, false));
  EXPECT_TRUE(is(16 * mib, 4, 256 * kib, true));
  EXPECT_TRUE(is(16 * mib, 64, 32 * kib, true));
  EXPECT_TRUE(is(std::size_t{1} << 40, 4096, 512 * kib, true));
}

// Where ranks share cores, what is sent while a message starts decides: little on a slow network.
TEST(Pipelines, HaveLongPiecesWhereRanksShareCoresOfAFastNetwork) {
  constexpr std::size_t kib = 1024;
  for (const auto& [start, piece] : {std::pair<std::size_t, std::size_t>{0, 32},
                                     {6 * kib, 32},
                                     {11 * kib, 64},
                                     {22 * kib, 128},
                                     {43 * kib, 256},
                                     {1024 * kib, 256}})
    EXPECT_EQ(coll::leaders::shared_piece_bytes({.measured_start_bytes = start}), piece * kib)
        << start;
  // Where operands meet, pieces alone change.
  for (const auto operands : {Pipeline::Operands::none, Pipeline::Operands::meet})
    for (const auto& [start, piece] :
         {std::pair<std::size_t, std::size_t>{22 * kib, 128 * kib}, {43 * kib, 256 * kib}}) {
      const coll::leaders::Way way{.measured_start_bytes = start, .shares_cores = true};
      const Pipeline pipeline(way, 256 * kib, 4, operands);
      EXPECT_EQ(pipeline.piece_bytes, piece);
      EXPECT_EQ(pipeline.chain, operands == Pipeline::Operands::meet);
    }
}

// Elsewhere a piece has the bytes that make a chain fastest where a message costs that much.
TEST(Pipelines, HaveLongPiecesWhereMessagesAreDear) {
  constexpr std::size_t kib = 1024;
  for (const auto& [start, bytes, piece] :
       {std::tuple<std::size_t, std::size_t, std::size_t>{0, 256 * kib, 32 * kib},
        {2 * kib, 256 * kib, 32 * kib},
        {22 * kib, 256 * kib, 64 * kib},
        {22 * kib, 1024 * kib, 128 * kib},
        {22 * kib, 4096 * kib, 256 * kib},
        {1024 * kib, 1024 * kib, 512 * kib}})
    EXPECT_EQ(
        Pipeline({.measured_start_bytes = start}, bytes, 2, Pipeline::Operands::meet).piece_bytes,
        piece)
        << start << ' ' << bytes;
  // A chain of one piece overlaps nothing, but where operands meet the shape does not change.
  for (const auto operands : {Pipeline::Operands::none, Pipeline::Operands::meet})
    EXPECT_EQ(Pipeline({.measured_start_bytes = 1024 * kib}, 256 * kib, 4, operands).chain,
              operands == Pipeline::Operands::meet);
}

// All members hear the largest, rounded down to a level.
TEST(Starts, AreAgreedOnAsABit) {
  using coll::leaders::bit_of_start;
  using coll::leaders::start_of_bits;
  EXPECT_EQ(bit_of_start(0), 0U);
  EXPECT_EQ(start_of_bits(0), 0U);
  for (std::size_t start = 1024; start <= 64 * 1024; start += 77) {
    const std::size_t heard = start_of_bits(bit_of_start(start));
    EXPECT_TRUE(heard <= start && start < heard * 6 / 5) << start;
    EXPECT_EQ(start_of_bits(bit_of_start(start) | bit_of_start(1024)), heard);
  }
  EXPECT_EQ(bit_of_start(1), 1U);
  EXPECT_EQ(start_of_bits(bit_of_start(std::size_t{1} << 40)), 64U * 1024);
}

TEST(Sums, AreExchangedWholeAsFarAsStartsWeighMore) {
  constexpr std::size_t kib = 1024;
  using coll::leaders::most_doubled;
  EXPECT_EQ(most_doubled({}), 64 * kib);
  EXPECT_EQ(most_doubled({.measured_start_bytes = 6 * kib}), 64 * kib);
  EXPECT_EQ(most_doubled({.measured_start_bytes = 22 * kib}), 176 * kib);
  EXPECT_EQ(most_doubled({.measured_start_bytes = 43 * kib}), 344 * kib);
}

// Limits of docs/nodes.md, on either side of each, with 8 ranks a node that have a core each.
TEST(LeadersRows, AreTakenWhereTheDocsSay) {
  constexpr std::size_t kib = 1024, mib = 1024 * kib;
  constexpr int near = 8;
  const auto taken = [](Collective collective, int nodes, std::size_t bytes, bool in_turn = false,
                        const coll::leaders::Way& way = {}) {
    std::vector<std::int32_t> hosts;
    for (std::int32_t rank = 0; rank < nodes * near; ++rank)
      hosts.push_back(in_turn ? rank % nodes : rank / near);
    const std::vector<coll::Block> blocks(hosts.size(), coll::Block{nullptr, bytes, nullptr});
    const coll::Work work{.count = bytes, .element_bytes = 1, .out = blocks, .in = blocks};
    const fabric::NodeMap map(hosts, 0);
    return std::string(coll::leaders::row_of<SimFabric, SimWire>(collective, map, way, work).name);
  };
  using enum Collective;
  const struct {
    Collective collective;
    int nodes;
    std::size_t most_bytes;  // of the first; one more is of the second
    const char *first, *second;
  } limits[] = {
      {bcast, 4, 64 * kib, "binomial", "chain"},
      {reduce, 4, 64 * kib, "binomial", "chain"},
      {scan, 4, 64 * kib, "doubling", "chain"},
      {exscan, 4, 64 * kib, "doubling", "chain"},
      {allreduce, 4, 64 * kib, "doubling", "halving"},
      {allreduce, 4, 128 * kib + 3, "halving", "ring"},
      {allreduce, 64, 2 * mib + 63, "halving", "ring"},
      {allreduce, 3, 12 * kib + 2, "doubling", "shares"},
      {allreduce, 3, 96 * kib + 2, "shares", "ring"},
      {gather, 4, 256 * kib - 1, "star", "direct"},
      {scatter, 4, 256 * kib - 1, "star", "direct"},
      {allgather, 4, 2 * kib, "doubling", "ring"},
      {allgatherv, 4, 2 * kib, "doubling", "ring"},
      {alltoall, 4, 4 * kib, "packed", "direct"},
      {alltoall, 7, 4, "forwarded", "packed"},
      {reduce_scatter, 4, 64 * kib + 3, "ranges", "pairwise"},
      {reduce_scatter_block, 64, mib + 63, "halving", "pairwise"},
  };
  for (const auto& [collective, nodes, most_bytes, first, second] : limits) {
    EXPECT_EQ(taken(collective, nodes, most_bytes), first) << name_of(collective);
    EXPECT_EQ(taken(collective, nodes, most_bytes + 1), second) << name_of(collective);
  }
  EXPECT_EQ(taken(barrier, 4, 0), "rounds");
  EXPECT_EQ(taken(gather, 64, 64), "binomial");
  EXPECT_EQ(taken(scatter, 512, 128), "binomial");
  coll::leaders::Way shared = coll::leaders::on_shared_cores;
  shared.measured_start_bytes = 128 * kib / 6;
  EXPECT_EQ(taken(scatter, 4, 910, false, shared), "binomial");
  EXPECT_EQ(taken(scatter, 4, 911, false, shared), "star");
  EXPECT_EQ(taken(scatter, 4, 64), "star");
  EXPECT_EQ(taken(scatter, 3, 64, false, shared), "star") << "its root sends as many messages";
  EXPECT_EQ(taken(gather, 4, 64, false, shared), "star");
  EXPECT_EQ(taken(scan, 4, 64, false, shared), "chain");
  EXPECT_EQ(taken(scan, 5, 64, false, shared), "doubling");
  EXPECT_EQ(taken(gatherv, 4, mib), "star");
  EXPECT_EQ(taken(scatterv, 4, mib), "star");
  EXPECT_EQ(taken(alltoallv, 4, mib), "packed") << "the small ones, of which there may be some";
  EXPECT_EQ(taken(alltoallw, 2048, 8), "direct") << "to list the blocks would take too long";
  EXPECT_EQ(taken(reduce_scatter, 4, mib, true), "ranges");
  EXPECT_EQ(taken(allreduce, 4, mib, true), "ring");
}

// So that one option can name either.
TEST(LeadersRows, HaveOtherNamesThanThoseOfANode) {
  for (int c = 0; c < coll::collective_count; ++c) {
    const auto collective = static_cast<Collective>(c);
    const auto near = coll::all_algorithms<SimFabric>(collective);
    for (const auto& row : coll::leaders::rows_of<SimFabric, SimWire>(collective))
      EXPECT_EQ(choice::place_of(near, row.name), choice::nobody) << row.name;
  }
}

// One that does not fit gives way.
TEST(LeadersRows, AreForcedWhereTheyFit) {
  using coll::leaders::forced_row;
  const fabric::NodeMap map(std::vector<std::int32_t>{0, 0, 1, 1}, 0);
  coll::leaders::Way way;
  auto& forced = way.forced[static_cast<std::size_t>(Collective::allreduce)];
  const auto taken = [&](std::size_t bytes) {
    const coll::Work work{.count = bytes};
    return std::string(
        coll::leaders::row_of<SimFabric, SimWire>(Collective::allreduce, map, way, work).name);
  };
  forced = forced_row<SimFabric, SimWire>(Collective::allreduce, "shares");
  EXPECT_EQ(taken(8), "shares");
  EXPECT_EQ(taken(limits::most_halved_bytes), "shares");
  EXPECT_EQ(taken(limits::most_halved_bytes + 1), "ring");
  forced = forced_row<SimFabric, SimWire>(Collective::allreduce, "staged");
  EXPECT_EQ(forced, 0);
  EXPECT_EQ(taken(8), "doubling");
  forced = 200;  // of another Tutti
  EXPECT_EQ(taken(8), "doubling");
}

// What they need in a leader, or in each rank, is bounded.
TEST(LeadersRows, AreNotForcedWhereTheyNeedTooMuchMemory) {
  const auto fits = [](Collective collective, const char* name, int nodes, std::size_t bytes) {
    constexpr int near = 2;
    std::vector<std::int32_t> hosts;
    for (std::int32_t rank = 0; rank < nodes * near; ++rank) hosts.push_back(rank / near);
    const std::vector<coll::Block> blocks(hosts.size(), coll::Block{nullptr, bytes, nullptr});
    const coll::Work work{.count = bytes, .out = blocks, .in = blocks};
    coll::leaders::Way way;
    way.forced[static_cast<std::size_t>(collective)] =
        coll::leaders::forced_row<SimFabric, SimWire>(collective, name);
    const fabric::NodeMap map(hosts, 0);
    const auto& taken = coll::leaders::row_of<SimFabric, SimWire>(collective, map, way, work);
    return std::string(taken.name) == name;
  };
  constexpr std::size_t most = limits::most_packed_bytes;
  const struct {
    Collective collective;
    const char* name;
    int nodes;
    std::size_t most_bytes;
  } rows[] = {
      {Collective::gather, "star", 4, most / 2},
      {Collective::gather, "binomial", 4, most / 4},
      {Collective::scatter, "binomial", 64, most / 64},
      {Collective::allgather, "doubling", 4, most / 8},
      {Collective::alltoall, "packed", 4, most / 48},
      {Collective::alltoall, "forwarded", 2, most / 32},
  };
  for (const auto& [collective, name, nodes, most_bytes] : rows) {
    EXPECT_TRUE(fits(collective, name, nodes, most_bytes)) << name_of(collective) << ' ' << name;
    EXPECT_FALSE(fits(collective, name, nodes, most_bytes + 1))
        << name_of(collective) << ' ' << name;
  }
}

// What either rank says; what the first one says where both do.
static_assert(choice::merge({0, 2, 3}, {1, 1, 0}) == choice::Forced{1, 2, 3});

// Of many nodes alone, and few bytes.
TEST(SmallBlocks, PassNodesWhereThatSavesTime) {
  const auto does = [](int nodes, int ranks, std::size_t bytes) {
    std::vector<std::int32_t> hosts;
    for (std::int32_t node = 0; node < nodes; ++node) hosts.insert(hosts.end(), ranks, node);
    const fabric::NodeMap map(hosts, 0);
    return coll::leaders::pays_to_pass_on(map, {}, {.count = bytes}, {limits::wire_start_bytes});
  };
  EXPECT_FALSE(does(4, 2, 8));
  EXPECT_FALSE(does(32, 1, 8));
  EXPECT_TRUE(does(64, 8, 64));
  EXPECT_FALSE(does(64, 8, 128));
  EXPECT_TRUE(does(512, 8, 128));
  EXPECT_FALSE(does(512, 8, 512));
  EXPECT_FALSE(does(4096, 1, limits::most_packed_bytes));
}

// No rank needs memory for blocks of an Allgather that have no gaps if each node has one rank.
TEST(PassedRound, TakesEachBlockByItself) {
  const fabric::NodeMap alone(std::vector<std::int32_t>{1, 2, 3}, 0);
  const fabric::NodeMap in_order(std::vector<std::int32_t>{1, 1, 2, 2}, 0);
  const fabric::NodeMap in_turn(std::vector<std::int32_t>{1, 2, 1, 2}, 0);
  const auto does = [](const fabric::NodeMap& map, std::size_t bytes) {
    std::vector<coll::Block> blocks(static_cast<std::size_t>(map.size()),
                                    {nullptr, bytes, nullptr});
    return coll::leaders::goes_by_block(map, {}, blocks);
  };
  EXPECT_TRUE(does(alone, 1));
  EXPECT_TRUE(does(in_turn, limits::least_run_bytes));
  EXPECT_FALSE(does(in_turn, limits::least_run_bytes - 1));
  EXPECT_FALSE(does(in_order, limits::least_run_bytes));
}

// Where log2 N messages in turn take less time than N - 1 at once.
TEST(Halving, PaysOnManyNodesAndWhereRanksShareCores) {
  const auto pays = [](int nodes, std::size_t bytes, const coll::leaders::Way& way = {}) {
    std::vector<std::int32_t> hosts;
    for (std::int32_t node = 0; node < nodes; ++node) hosts.insert(hosts.end(), 2, node);
    return coll::leaders::halving_pays(fabric::NodeMap(hosts, 0), way, bytes);
  };
  const coll::leaders::Way& shared = coll::leaders::on_shared_cores;
  for (const int nodes : {1, 2, 3}) {
    EXPECT_FALSE(pays(nodes, 64));
    EXPECT_FALSE(pays(nodes, 64, shared));
  }
  EXPECT_FALSE(pays(4, 64));
  EXPECT_TRUE(pays(4, 64, shared));
  EXPECT_FALSE(pays(5, 64, shared));
  EXPECT_TRUE(pays(7, 64, shared));
  EXPECT_FALSE(pays(7, 64 << 10, shared)) << "pairs send all of it once more";
  EXPECT_TRUE(pays(16, 64));
  EXPECT_TRUE(pays(64, 512 << 10));
  EXPECT_FALSE(pays(48, 512 << 10));
}

}  // namespace
}  // namespace tutti::test
