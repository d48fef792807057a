// SPDX-License-Identifier: BSD-3-Clause
// Every collective over nodes, under ten thousand seeded schedules each: random nodes, orders of
// ranks over them, sizes, roots and ways to reach buffers, with other collectives before and after.
#include <gtest/gtest.h>

#include "coll/leaders/rows.h"
#include "lab/sim_wire.h"
#include "support/plans.h"
#include "support/scene.h"
#include "support/seeds.h"

namespace tutti::test {
namespace {

using lab::SimFabric;
using lab::SimMail;
using lab::Simulator;
using lab::SimWire;

constexpr auto algorithm_of = coll::leaders::algorithm_of<SimFabric, SimWire>;

std::vector<Collective> led() {
  std::vector<Collective> all;
  for (int c = 0; c < coll::collective_count; ++c)
    if (algorithm_of(static_cast<Collective>(c)) != nullptr)
      all.push_back(static_cast<Collective>(c));
  return all;
}

// As a launcher lays ranks over nodes: one after the other, in turn, or at random.
std::vector<std::int32_t> draw_hosts(std::mt19937_64& random, int ranks) {
  const auto nodes = static_cast<std::int32_t>(1 + random() % std::min(7, ranks));
  const auto mode = random() % 3;
  std::vector<std::int32_t> hosts;
  for (std::int32_t rank = 0; rank < ranks; ++rank)
    hosts.push_back(mode == 0   ? rank * nodes / ranks
                    : mode == 1 ? rank % nodes
                                : static_cast<std::int32_t>(random() % 7));
  return hosts;
}

// Operations that neither commute nor associate are for one node alone.
Script draw(std::mt19937_64& random, Collective collective, int ranks) {
  Script script{.ranks = ranks, .ops = {}};
  const std::vector<Collective> all = led();
  const std::size_t ops = 1 + random() % 8;
  while (script.ops.size() < ops) {
    const Collective next = random() % 3 != 0 ? collective : all[random() % all.size()];
    const std::size_t row = coll::rows_of<SimFabric>(next).size() - 1;
    Op op = draw_op<SimFabric>(random, {next, row}, ranks, {});
    if (!only_moves(next) && next != Collective::barrier && next != Collective::bcast &&
        std::string_view(kinds[op.kind].name) != "sum of 24")
      continue;
    op.order = coll::Order::tree;
    script.ops.push_back(op);
  }
  return script;
}

class Leaders : public ::testing::TestWithParam<Collective> {};

// "" or what went wrong under this seed.
std::string run(Collective collective, std::uint64_t seed) {
  std::mt19937_64 random(mix(seed));
  const int ranks = detail::draw_ranks(random);
  Scene scene(draw(random, collective, ranks));
  const std::vector<std::int32_t> hosts = draw_hosts(random, ranks);
  const auto bits = random() % 8;
  Simulator simulator(hosts, random(), {(bits & 1) != 0 || bits == 0, (bits & 2) != 0, true});
  SimMail mail(ranks);
  std::vector<SimWire> wires;
  for (int rank = 0; rank < ranks; ++rank) wires.emplace_back(simulator, mail, rank);
  bool tidy = true;
  const auto body = [&](int rank) -> lab::Task {
    SimFabric& f = simulator.fabric(rank);
    SimWire& wire = wires[static_cast<std::size_t>(rank)];
    const auto plans = usual_plans<SimFabric>(f.size());
    coll::leaders::Members<SimFabric, SimWire> all{f, wire, simulator.map(rank), *plans};
    for (std::size_t i = 0; i < scene.script().ops.size(); ++i) {
      const coll::Work work = scene.enter(i, rank);
      f.begin(std::uint64_t{1} << 63 | i);
      tidy = wire.begin_call() && tidy;
      co_await algorithm_of(scene.script().ops[i].algorithm.collective)(all, work);
      tidy = wire.begin_call() && tidy;
      scene.leave(i, rank, work);
    }
  };
  int stuck = 0;
  if (!simulator.run_ranks(body, &stuck))
    return std::to_string(stuck) + " of " + std::to_string(ranks) + " ranks wait for ever";
  if (simulator.mismatches() != 0) return "a message, or a call, is not what its receiver awaits";
  if (simulator.trespasses() != 0) return "a buffer was copied that cannot be reached that way";
  if (!tidy) return "messages were left behind";
  return scene.verdict();
}

TEST_P(Leaders, GiveTheSequentialResult) {
  const Seeds range = seeds(10'000);
  for (std::uint64_t seed = range.first; seed <= range.last; ++seed) {
    const std::string failure = run(GetParam(), seed);
    ASSERT_EQ(failure, "") << "run it again with TUTTI_TEST_SEED=" << seed << " --gtest_filter=*"
                           << coll::name_of(GetParam());
  }
}

INSTANTIATE_TEST_SUITE_P(Collectives, Leaders, ::testing::ValuesIn(led()),
                         [](const auto& one) { return std::string(coll::name_of(one.param)); });

}  // namespace
}  // namespace tutti::test
