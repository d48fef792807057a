// SPDX-License-Identifier: BSD-3-Clause
// Every algorithm of the tables, under ten thousand seeded schedules each: random numbers of ranks,
// sizes, roots, element kinds, ways to reach buffers, costs, and other collectives before and after
// on the same desks with no barrier between. A new row is tested without a change here.
#include <gtest/gtest.h>

#include "coll/plans.h"
#include "lab/sim.h"
#include "support/scene.h"
#include "support/seeds.h"
#include "support/transports.h"

namespace tutti::test {
namespace {

using lab::SimFabric;
using lab::Simulator;

class Schedules : public ::testing::TestWithParam<Algorithm> {};

// Mostly young teams; some are about to see a counter of 32 bits, or a share's of 40, go round.
fabric::Step draw_start(std::mt19937_64& random) {
  constexpr unsigned share_bits = 64 - segment::share_count_bits;
  constexpr fabric::Step starts[] = {fabric::Step{1} << 32, fabric::Step{1} << share_bits,
                                     fabric::Step{3} << share_bits};
  return random() % 4 != 0 ? 0 : starts[random() % std::size(starts)] - 1 - random() % 16;
}

// What costs decide within an algorithm: everyone folds everything, or a slice; blocks are packed
// or left where they are; slots are handed back or not.
choice::Costs draw_costs(std::mt19937_64& random, int ranks) {
  choice::Costs costs = choice::usual;
  if (random() % 2 == 0) costs.handed_back_ns = costs.left_ns;
  if (random() % 2 == 0) costs = choice::on_shared_cores(costs, 2);
  if (random() % 4 == 0) costs.flag_ns = costs.switch_ns = 0;
  return coll::make_plans<SimFabric>(ranks, costs).costs;
}

// "" or what went wrong under this seed.
std::string run(const Algorithm& algorithm, std::uint64_t seed) {
  std::mt19937_64 random(mix(seed));
  const int ranks = detail::draw_ranks(random);
  Scene scene(draw_script<SimFabric>(random, algorithm, ranks));
  const memory::TransportSet transports = draw_transports(random);
  Simulator simulator(ranks, random(), transports, draw_start(random));
  const choice::Costs costs = draw_costs(random, ranks);
  int stuck = 0;
  const auto play = [&](SimFabric& f) {
    f.set_costs(costs);
    return scene.play(f);
  };
  if (!simulator.run(play, &stuck))
    return std::to_string(stuck) + " of " + std::to_string(ranks) + " ranks wait for ever";
  if (simulator.mismatches() != 0) return "ranks of the same call saw a mismatch";
  if (simulator.trespasses() != 0) return "a buffer was copied that cannot be reached that way";
  return scene.verdict();
}

TEST_P(Schedules, GiveTheSequentialResult) {
  const Seeds range = seeds(10'000);
  for (std::uint64_t seed = range.first; seed <= range.last; ++seed) {
    const std::string failure = run(GetParam(), seed);
    ASSERT_EQ(failure, "") << "run it again with TUTTI_TEST_SEED=" << seed << " --gtest_filter=*"
                           << name_of<SimFabric>(GetParam());
  }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, Schedules, ::testing::ValuesIn(all_algorithms<SimFabric>()),
                         [](const auto& row) { return name_of<SimFabric>(row.param); });

}  // namespace
}  // namespace tutti::test
