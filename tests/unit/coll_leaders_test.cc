// SPDX-License-Identifier: BSD-3-Clause
// Every collective over nodes, and each of its algorithms, under ten thousand seeded schedules:
// random nodes, orders of ranks over them, sizes, roots and ways to reach buffers, with other
// collectives before and after.
#include <gtest/gtest.h>

#include "lab/sim_wire.h"
#include "support/leaders.h"
#include "support/plans.h"
#include "support/scene.h"
#include "support/seeds.h"
#include "support/transports.h"

namespace tutti::test {
namespace {

using lab::SimFabric;
using lab::SimMail;
using lab::Simulator;
using lab::SimWire;

class Leaders : public ::testing::TestWithParam<Collective> {};

// Half of the time the usual.
coll::leaders::Way draw_way(std::mt19937_64& random, const fabric::NodeMap& map) {
  coll::leaders::Way way;
  if (random() % 3 == 0)
    for (std::size_t c = 0; c < way.forced.size(); ++c) {
      const auto rows = coll::leaders::rows_of<SimFabric, SimWire>(static_cast<Collective>(c));
      way.forced[c] = static_cast<std::uint8_t>(random() % (1 + rows.size()));
    }
  if (random() % 2 == 0) return way;
  if (random() % 2 == 0) way.round_starts = 1;
  way.ranged_bytes = std::size_t{1} << random() % 16;
  way.leaders = 1 + static_cast<int>(random() % static_cast<unsigned>(map.smallest() + 1));
  way.doubled_bytes = std::size_t{1} << random() % 16;
  way.halved_bytes = way.paired_bytes = std::size_t{1} << random() % 16;
  if (random() % 2 == 0) way.by_share_bytes = std::size_t{1} << random() % 16;
  way.least_piece_bytes = std::size_t{64} << random() % 10;
  way.start_bytes = std::size_t{1} << random() % 12;
  if (random() % 2 == 0) way.measured_start_bytes = std::size_t{16} << random() % 12;
  way.shares_cores = random() % 2 == 0;
  way.slice_bytes = std::size_t{256} << random() % 12;
  way.part_bytes = 1 + random() % 1024;
  way.block_part_bytes = 1 + random() % 1024;
  if (random() % 2 == 0) way.run_bytes = 1 + random() % 16384;
  if (random() % 2 == 0) way.direct_bytes = std::size_t{1} << random() % 16;
  way.most_direct_piece_bytes = std::size_t{128} << random() % 13;
  way.grain_bytes = std::size_t{1} << random() % 13;
  if (random() % 2 == 0) way.packed_bytes = random() % 4096;
  if (random() % 2 == 0) way.forwarded_bytes = random() % 65536;
  if (random() % 2 == 0) way.passed_bytes = std::size_t{1} << random() % 17;
  if (random() % 2 == 0) way.nodes_a_round = random() % 3;
  return way;
}

// The algorithm of all calls of a collective for which it fits, and how many it ran.
struct Forced {
  Collective collective;
  std::size_t row;
  std::uint64_t ran = 0;
};
bool runs(const Forced& forced, Collective collective, const fabric::NodeMap& map,
          const coll::leaders::Way& way, const coll::Work& work) {
  using coll::leaders::row_of, coll::leaders::rows_of;
  return collective == forced.collective && work.operands == nullptr &&
         &row_of<SimFabric, SimWire>(collective, map, way, work) ==
             &rows_of<SimFabric, SimWire>(collective)[forced.row];
}

// "" or what went wrong.
std::string play(Scene& scene, const std::vector<std::int32_t>& hosts, std::mt19937_64& random,
                 bool strict, Forced* forced = nullptr) {
  const int ranks = static_cast<int>(hosts.size());
  const memory::TransportSet transports = draw_transports(random);
  Simulator simulator(hosts, random(), transports);
  SimMail mail(ranks);
  std::vector<SimWire> wires;
  for (int rank = 0; rank < ranks; ++rank) wires.emplace_back(simulator, mail, rank);
  bool tidy = true;
  coll::leaders::Way way = draw_way(random, simulator.map(0));
  if (forced != nullptr)
    way.forced[static_cast<std::size_t>(forced->collective)] =
        static_cast<std::uint8_t>(1 + forced->row);
  const auto body = [&](int rank) -> lab::Task {
    SimFabric& f = simulator.fabric(rank);
    SimWire& wire = wires[static_cast<std::size_t>(rank)];
    const auto plans = usual_plans<SimFabric>(f.size());
    coll::leaders::Members<SimFabric, SimWire> all{f,      wire,   simulator.map(rank),
                                                   *plans, strict, way};
    for (std::size_t i = 0; i < scene.script().ops.size(); ++i) {
      const coll::Work work = scene.enter(i, rank);
      const Collective collective = scene.script().ops[i].algorithm.collective;
      if (rank == 0 && forced != nullptr && runs(*forced, collective, all.map, way, work))
        ++forced->ran;
      f.begin(std::uint64_t{1} << 63 | i);
      tidy = wire.begin_call() && tidy;
      co_await coll::leaders::run(all, collective, work);
      tidy = wire.begin_call() && tidy;
      scene.leave(i, rank, work);
    }
  };
  int stuck = 0;
  if (!simulator.run_ranks(body, &stuck))
    return std::to_string(stuck) + " of " + std::to_string(ranks) + " ranks wait for ever";
  if (simulator.mismatches() != 0) return "a message, or a call, is not what its receiver awaits";
  if (simulator.trespasses() != 0)
    return "a buffer was copied that cannot be reached that way, or a message is of a peer's "
           "memory";
  if (!tidy) return "messages were left behind";
  return scene.verdict();
}

// The same under this seed.
std::string run(Collective collective, std::uint64_t seed) {
  std::mt19937_64 random(mix(seed));
  const int ranks = detail::draw_ranks(random);
  const std::vector<std::int32_t> hosts = draw_hosts(random, ranks, wants_order(collective));
  Scene scene(draw_led_script<SimFabric, SimWire>(random, collective, hosts));
  return play(scene, hosts, random, seed % 2 == 0);
}

TEST_P(Leaders, GiveTheSequentialResult) {
  const Seeds range = seeds(10'000);
  for (std::uint64_t seed = range.first; seed <= range.last; ++seed) {
    const std::string failure = run(GetParam(), seed);
    ASSERT_EQ(failure, "") << "run it again with TUTTI_TEST_SEED=" << seed << " --gtest_filter=*"
                           << coll::name_of(GetParam());
  }
}

class LeadersBy : public ::testing::TestWithParam<Forced> {};

std::string name_of(const Forced& one) {
  return std::string(coll::name_of(one.collective)) + "_" +
         coll::leaders::rows_of<SimFabric, SimWire>(one.collective)[one.row].name;
}

// Of the collectives that have several; the test above is that of the others.
std::vector<Forced> algorithms() {
  std::vector<Forced> all;
  for (const Collective collective : led<SimFabric, SimWire>()) {
    const std::size_t rows = coll::leaders::rows_of<SimFabric, SimWire>(collective).size();
    for (std::size_t row = 0; rows > 1 && row < rows; ++row) all.push_back({collective, row});
  }
  return all;
}

TEST_P(LeadersBy, GiveTheSequentialResult) {
  Forced forced = GetParam();
  const Seeds range = seeds(10'000);
  for (std::uint64_t seed = range.first; seed <= range.last; ++seed) {
    std::mt19937_64 random(mix(seed));
    const int ranks = 2 + static_cast<int>(random() % 11);
    const auto hosts = draw_hosts(random, ranks, wants_order(forced.collective));
    Scene scene(draw_led_script<SimFabric, SimWire>(random, forced.collective, hosts, 1));
    ASSERT_EQ(play(scene, hosts, random, seed % 2 == 0, &forced), "")
        << "run it again with TUTTI_TEST_SEED=" << seed << " --gtest_filter=*" << name_of(forced);
  }
  const std::uint64_t all = range.last - range.first + 1;
  if (all >= 100) {
    EXPECT_GE(3 * forced.ran, all) << "it hardly ever fits";
  }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, LeadersBy, ::testing::ValuesIn(algorithms()),
                         [](const auto& one) { return name_of(one.param); });

INSTANTIATE_TEST_SUITE_P(Collectives, Leaders, ::testing::ValuesIn(led<SimFabric, SimWire>()),
                         [](const auto& one) { return std::string(coll::name_of(one.param)); });

// What this collective leaves on all ranks of sums of doubles that rounding makes depend on their
// order. If one rank never calls it: on those that end all the same.
std::vector<double> sums_of(Collective collective, int nodes, std::size_t count,
                            const coll::leaders::Way& way, int each = 1, int absent = -1) {
  const int ranks = nodes * each;
  std::vector<std::int32_t> hosts;
  for (int rank = 0; rank < ranks; ++rank) hosts.push_back(rank / each);
  Simulator simulator(hosts, 1);
  SimMail mail(ranks);
  std::vector<SimWire> wires;
  for (int rank = 0; rank < ranks; ++rank) wires.emplace_back(simulator, mail, rank);
  std::vector<std::vector<double>> send(hosts.size()), recv(hosts.size());
  std::vector<coll::Slice> parts;
  const bool scatters = collective == Collective::reduce_scatter;
  for (int rank = 0; rank < ranks; ++rank) parts.push_back(coll::slice_of(count, ranks, rank));
  std::vector<bool> ended(hosts.size());
  const auto body = [&](int rank) -> lab::Task {
    if (rank == absent) co_return;
    const auto me = static_cast<std::size_t>(rank);
    for (std::size_t i = 0; i < count; ++i)
      send[me].push_back(1 / (static_cast<double>(i) + 3 * static_cast<double>(rank) + 1));
    recv[me].resize(scatters ? parts[me].count : count);
    SimFabric& f = simulator.fabric(rank);
    const auto plans = usual_plans<SimFabric>(f.size());
    coll::leaders::Members<SimFabric, SimWire> all{f,      wires[me], simulator.map(rank),
                                                   *plans, false,     way};
    const coll::Work work{.send = send[me].data(),
                          .recv = recv[me].data(),
                          .count = count,
                          .element_bytes = sizeof(double),
                          .kernel = reduce::find(reduce::Op::sum, reduce::Type::f64),
                          .op = 1 + static_cast<int>(reduce::Op::sum),
                          .parts = scatters ? parts : std::span<const coll::Slice>{}};
    f.begin(1);
    (void)wires[me].begin_call();
    co_await coll::leaders::run(all, collective, work);
    ended[me] = true;
  };
  (void)simulator.run_ranks(body, nullptr);
  std::vector<double> result;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    EXPECT_TRUE(ended[rank] || absent >= 0) << rank;
    if (ended[rank]) result.insert(result.end(), recv[rank].begin(), recv[rank].end());
  }
  return result;
}

// Where ranks share cores, those before one that is late do not wait for it, though the last one of
// a node sends what the next node needs.
TEST(Sums, WaitForNoLaterRankWhereRanksShareCores) {
  constexpr int nodes = 4, each = 3;
  const std::size_t few = 4;
  const coll::leaders::Way& way = coll::leaders::on_shared_cores;
  for (const Collective collective : {Collective::scan, Collective::exscan}) {
    const auto all = sums_of(collective, nodes, few, way, each);
    for (int absent = 1; absent < nodes * each; ++absent) {
      if (absent % each == 0) continue;  // a message to it may be waited for
      const auto some = sums_of(collective, nodes, few, way, each, absent);
      const auto before = static_cast<std::ptrdiff_t>(absent * few);
      EXPECT_EQ(some, std::vector(all.begin(), all.begin() + before)) << absent;
    }
  }
}

// Neither what was measured nor who shares a core changes a bit.
TEST(Sums, HaveTheSameBitsWhereverRanksRun) {
  using coll::leaders::Way;
  for (const int nodes : {2, 3, 4, 5, 6, 7, 8, 13}) {
    const std::size_t few = 64;
    const auto at_once = sums_of(Collective::reduce_scatter, nodes, few, {.round_starts = 1e9});
    EXPECT_EQ(at_once, sums_of(Collective::reduce_scatter, nodes, few, {.round_starts = 1e-9}));
    EXPECT_EQ(at_once,
              sums_of(Collective::reduce_scatter, nodes, few, coll::leaders::on_shared_cores));
    const std::size_t many = 32 << 10;
    for (const Collective each : {Collective::reduce, Collective::scan, Collective::allreduce}) {
      const auto usual = sums_of(each, nodes, many, {});
      for (Way way : {Way{}, coll::leaders::on_shared_cores})
        for (const std::size_t measured : {11 << 10, 22 << 10, 43 << 10, 1 << 20}) {
          way.measured_start_bytes = measured;
          EXPECT_EQ(usual, sums_of(each, nodes, many, way)) << nodes << " nodes, " << measured;
        }
    }
    for (const std::size_t some : {1 << 10, 4 << 10, 8 << 10})  // in halves, or whole
      for (const std::size_t measured : {11 << 10, 64 << 10})
        EXPECT_EQ(sums_of(Collective::allreduce, nodes, some, {}),
                  sums_of(Collective::allreduce, nodes, some, {.measured_start_bytes = measured}))
            << nodes << " nodes, " << some << ", " << measured;
    // Whole and in halves, with and without second leaders.
    for (const int each : {1, 2}) {
      const std::size_t some = 8 << 10;
      const auto exchanged = [&](std::size_t most_whole) {
        return sums_of(
            Collective::allreduce, nodes, some,
            {.doubled_bytes = most_whole, .halved_bytes = 1 << 20, .paired_bytes = 1 << 20}, each);
      };
      EXPECT_EQ(exchanged(0), exchanged(1 << 20)) << nodes << " nodes of " << each;
    }
    for (const Collective each : {Collective::scan, Collective::exscan}) {
      const auto doubled = sums_of(each, nodes, few, {.shares_cores = false}, 2);
      EXPECT_EQ(doubled, sums_of(each, nodes, few, coll::leaders::on_shared_cores, 2))
          << nodes << " nodes";
      EXPECT_EQ(doubled, sums_of(each, nodes, few, {.shares_cores = true}, 2)) << nodes << " nodes";
      EXPECT_EQ(sums_of(each, nodes, many, {}, 2),
                sums_of(each, nodes, many, coll::leaders::on_shared_cores, 2))
          << nodes << " nodes, in pieces";
    }
    // In several rounds of several slices, too.
    for (const std::size_t slice : {std::size_t{4} << 10, limits::most_ring_slice_bytes}) {
      const Way ring = {.by_share_bytes = 0, .slice_bytes = slice};
      const Way shares = {.by_share_bytes = std::size_t{1} << 20, .slice_bytes = slice};
      EXPECT_EQ(sums_of(Collective::allreduce, nodes, many, ring),
                sums_of(Collective::allreduce, nodes, many, shares))
          << nodes << " nodes, slices of " << slice;
    }
  }
}

// Blocks for the last rank, by an Alltoallv, Gather or Gatherv. What it is sent before it comes,
// in some MPIs it needs as much memory for; not for messages that go whole.
class ToTheLast {
 public:
  ToTheLast(Collective collective, int ranks, std::size_t block, int each = 1)
      : collective_(collective), ranks_(ranks), block_(block), out_(block), in_(block) {
    for (int rank = 0; rank < ranks; ++rank) hosts_.push_back(rank / each);
  }

  std::size_t sent_early() {
    std::vector<coll::Block> in(all_ranks());
    in.back() = {.address = in_.data(), .bytes = block_};
    const bool ended = run(in, false);
    EXPECT_EQ(mismatches_, 0);
    if (collective_ == Collective::alltoallv) {
      EXPECT_FALSE(ended);
      EXPECT_EQ(stuck_, ranks_ - 1);
    }
    return early_bytes_;
  }
  // With the last rank, which gets what has been sent.
  bool arrives() {
    std::ranges::fill(out_, std::byte{7});
    std::vector<std::byte> memory(all_ranks() * block_);
    std::vector<coll::Block> in(all_ranks());
    for (std::size_t q = 0; q < in.size(); ++q) in[q] = {&memory[q * block_], block_, nullptr};
    return run(in, true) && mismatches_ == 0 &&
           std::ranges::all_of(memory, [](std::byte byte) { return byte == std::byte{7}; });
  }

 private:
  [[nodiscard]] std::size_t all_ranks() const { return hosts_.size(); }

  bool run(std::vector<coll::Block>& in, bool comes) {
    Simulator simulator(hosts_, 1);
    SimMail mail(ranks_);
    std::vector<SimWire> wires;
    for (int rank = 0; rank < ranks_; ++rank) wires.emplace_back(simulator, mail, rank);
    const auto body = [&](int rank) -> lab::Task {
      const bool is_last = rank == ranks_ - 1;
      if (is_last && !comes) co_return;
      std::vector<coll::Block> out(all_ranks());
      out.back() = {.address = out_.data(), .bytes = block_};
      SimFabric& f = simulator.fabric(rank);
      const auto plans = usual_plans<SimFabric>(f.size());
      SimWire& wire = wires[static_cast<std::size_t>(rank)];
      coll::leaders::Members<SimFabric, SimWire> all{f,      wire,  simulator.map(rank),
                                                     *plans, false, {}};
      coll::Work work{.out = out, .in = in};
      if (collective_ != Collective::alltoallv) {
        work.root = ranks_ - 1;
        work.count = collective_ == Collective::gather ? block_ : 0;
        work.out = work.out.last(1);
        if (!is_last) work.in = {};
      }
      f.begin(1);
      (void)wire.begin_call();
      co_await coll::leaders::run(all, collective_, work);
    };
    const bool ended = simulator.run_ranks(body, &stuck_);
    mismatches_ = simulator.mismatches();
    early_bytes_ = 0;
    for (int rank = 0; rank < ranks_; ++rank)
      for (const auto& message : mail.channel(rank, ranks_ - 1).sent)
        if (message->whole == fabric::Whole::no) early_bytes_ += message->bytes;
    return ended;
  }

  Collective collective_;
  int ranks_;
  std::size_t block_;
  std::vector<std::int32_t> hosts_;
  std::vector<std::byte> out_, in_;
  int stuck_ = 0, mismatches_ = 0;
  std::size_t early_bytes_ = 0;
};

TEST(Late, KeepsLittle) {
  const std::size_t mib = std::size_t{1} << 20;
  for (const int ranks : {2, 3, 17, 40, 128}) {
    const std::size_t sent = ToTheLast(Collective::alltoallv, ranks, 8 * mib).sent_early();
    EXPECT_GT(sent, 0);
    EXPECT_LE(sent, 16 * mib) << ranks << " ranks";
  }
  EXPECT_EQ(ToTheLast(Collective::alltoallv, 2, 8 * mib).sent_early(), mib);
  EXPECT_EQ(coll::leaders::direct_piece_bytes({}, 16), mib / 2);
  EXPECT_EQ(coll::leaders::direct_piece_bytes({}, 1024), mib / 16);
}

// By leaders.
TEST(Late, RootsKeepLittle) {
  const std::size_t mib = std::size_t{1} << 20;
  for (const int each : {1, 4}) {
    const auto others = static_cast<std::size_t>(64 - each);
    EXPECT_EQ(ToTheLast(Collective::gather, 64, mib / 8, each).sent_early(), others * mib / 8);
    EXPECT_EQ(ToTheLast(Collective::gather, 256, mib / 8, each).sent_early(), 0);
    EXPECT_TRUE(ToTheLast(Collective::gather, 132, mib / 8, each).arrives());
    for (const int nodes : {5, 17, 18, 40})
      EXPECT_LE(ToTheLast(Collective::gatherv, nodes * each, mib / each, each).sent_early(),
                17 * mib)
          << nodes << " nodes of " << each;
    EXPECT_TRUE(ToTheLast(Collective::gatherv, 20 * each, 2 * mib / each, each).arrives());
    // Short ones do not wait for the root.
    const std::size_t few = 64 << 10;
    EXPECT_GE(ToTheLast(Collective::gatherv, 40 * each, few / each, each).sent_early(), 39 * few);
  }
}

// However many leaders share it, and in whatever parts.
TEST(Sums, HaveTheSameBitsWhoeverLeads) {
  using coll::leaders::Way;
  const std::size_t count = 32 << 10;
  for (const int nodes : {2, 3, 4, 6})
    for (const int each : {2, 3})
      for (const Collective collective : {Collective::allreduce, Collective::reduce_scatter})
        for (const std::size_t ring : {std::size_t{0}, std::size_t{1} << 20}) {
          // In halves, by shares, or along the ring.
          Way way = {.halved_bytes = ring, .by_share_bytes = ring, .leaders = 1};
          const auto one = sums_of(collective, nodes, count, way, each);
          for (const int leaders : {2, 3}) {
            way.leaders = leaders;
            way.part_bytes = way.block_part_bytes = leaders == 2 ? 1 : 8192;
            EXPECT_EQ(one, sums_of(collective, nodes, count, way, each))
                << nodes << " nodes of " << each << ", " << leaders << " leaders";
          }
        }
}

// What would not keep the ranks' order is left to the MPI, and what would take too much memory.
TEST(LeadersServe, OnlyWhatTheyCan) {
  const fabric::NodeMap in_turn(std::vector<std::int32_t>{1, 2, 1, 2}, 0);
  const fabric::NodeMap in_order(std::vector<std::int32_t>{1, 1, 2, 2}, 0);
  const coll::Work sum{.count = 3, .element_bytes = 8};
  coll::Work user = sum, ordered = sum;
  user.op = ordered.op = coll::user_op;
  ordered.commutes = false;
  for (const Collective each : {Collective::scan, Collective::exscan}) {
    EXPECT_FALSE(coll::leaders::serves(in_turn, each, sum));
    EXPECT_TRUE(coll::leaders::serves(in_order, each, sum));
    EXPECT_FALSE(coll::leaders::serves(in_turn, each, user));
    EXPECT_TRUE(coll::leaders::serves(in_order, each, ordered));
  }
  const fabric::NodeMap listed(std::vector<std::int32_t>(limits::most_listed_ranks, 1), 0);
  const fabric::NodeMap crowded(std::vector<std::int32_t>(limits::most_listed_ranks + 1, 1), 0);
  for (const Collective each : {Collective::gather, Collective::scatter, Collective::allgatherv,
                                Collective::alltoall, Collective::reduce_scatter_block}) {
    EXPECT_TRUE(coll::leaders::serves(listed, each, sum));
    EXPECT_FALSE(coll::leaders::serves(crowded, each, sum));
  }
  for (const Collective each :
       {Collective::barrier, Collective::bcast, Collective::allreduce, Collective::scan})
    EXPECT_TRUE(coll::leaders::serves(crowded, each, sum));
  for (const Collective each : {Collective::reduce_scatter, Collective::reduce_scatter_block}) {
    EXPECT_TRUE(coll::leaders::serves(in_turn, each, sum));
    EXPECT_TRUE(coll::leaders::serves(in_turn, each, user));
    EXPECT_FALSE(coll::leaders::serves(in_order, each, ordered));
  }
  coll::Operands operands;
  user.operands = &operands;
  user.commutes = false;
  for (const auto each : {Collective::allreduce, Collective::scan, Collective::reduce_scatter}) {
    user.count = limits::most_late_bytes / 4 / user.element_bytes;
    EXPECT_TRUE(coll::leaders::serves(in_turn, each, user));
    ++user.count;
    EXPECT_FALSE(coll::leaders::serves(in_turn, each, user));
  }
  user.count = 1;
  for (const bool more : {false, true}) {
    std::vector<std::int32_t> hosts;
    for (std::uint64_t rank = 0; rank < segment::most_members + (more ? 1 : 0); ++rank)
      hosts.push_back(static_cast<std::int32_t>(rank / 64));
    EXPECT_NE(coll::leaders::serves({hosts, 0}, Collective::allreduce, user), more);
  }
  const coll::Work large{.count = std::size_t{1} << 40};
  EXPECT_TRUE(coll::leaders::serves(in_order, Collective::gather, large));
  EXPECT_TRUE(coll::leaders::serves(in_order, Collective::gatherv, {}));
  EXPECT_TRUE(coll::leaders::serves(in_order, Collective::alltoall, large));
}

TEST(NodeMap, KnowsWhoIsWhere) {
  const std::vector<std::int32_t> hosts = {9, 4, 9, 7, 4, 9};
  for (int rank = 0; rank < 6; ++rank) {
    const fabric::NodeMap map(hosts, rank);
    EXPECT_EQ(map.nodes(), 3);
    EXPECT_EQ(map.size(), 6);
    EXPECT_EQ(map.node(), std::vector({0, 1, 0, 2, 1, 0})[static_cast<std::size_t>(rank)]);
    EXPECT_EQ(map.place_of(rank), std::vector({0, 0, 1, 0, 1, 2})[static_cast<std::size_t>(rank)]);
    EXPECT_EQ(std::vector<int>(map.members(0).begin(), map.members(0).end()),
              std::vector<int>({0, 2, 5}));
    EXPECT_EQ(map.before(1), 3);
    EXPECT_EQ(map.before(2), 5);
    EXPECT_EQ(map.leader(0), 0);
    EXPECT_EQ(map.leader(0, 5), 5);
    EXPECT_EQ(map.leader(1, 5), 1);
    EXPECT_FALSE(map.in_order());
  }
  EXPECT_TRUE(fabric::NodeMap(std::vector<std::int32_t>{3, 3, 1, 1, 2}, 4).in_order());
}

}  // namespace
}  // namespace tutti::test
