// SPDX-License-Identifier: BSD-3-Clause
// Machines with hundreds of cores: more ranks than the rings and rounds of small ones are built
// for.
#include <gtest/gtest.h>

#include "lab/sim.h"
#include "support/scene.h"

namespace tutti::test {
namespace {

using lab::SimFabric;
using lab::Simulator;

void play(int ranks, const Algorithm& algorithm, std::size_t count, int root,
          std::size_t calls = 2) {
  Script script{.ranks = ranks, .ops = {}};
  const Op op{.algorithm = algorithm, .root = root, .kind = 0, .count = count, .seed = 5};
  script.ops.assign(calls, op);
  Scene scene(script);
  Simulator simulator(ranks, 1);
  int stuck = 0;
  ASSERT_TRUE(simulator.run([&](SimFabric& f) { return scene.play(f); }, &stuck))
      << stuck << " of " << ranks << " ranks wait for ever in " << name_of<SimFabric>(algorithm)
      << " of " << count << " elements";
  EXPECT_EQ(scene.verdict(), "");
}

class ManyRanksOfEach : public ::testing::TestWithParam<Algorithm> {};

// 257 ranks were once the first to hang: they need nine rounds of dissemination.
TEST_P(ManyRanksOfEach, End) {
  const Algorithm& algorithm = GetParam();
  for (const int ranks : {257, 513})
    for (const int count : {3, only_moves(algorithm.collective) ? 30 : 3000})
      if (all_rows<SimFabric>(algorithm.collective)[algorithm.row].fits(
              facts_of({.algorithm = algorithm, .count = static_cast<std::size_t>(count)}, ranks)))
        play(ranks, algorithm, static_cast<std::size_t>(count), ranks - 1);
}

INSTANTIATE_TEST_SUITE_P(Algorithms, ManyRanksOfEach,
                         ::testing::ValuesIn(all_algorithms<SimFabric>()),
                         [](const auto& row) { return name_of<SimFabric>(row.param); });

// As many rounds as a team can need: one ring of lines must do.
TEST(ManyRanks, ABarrierOfTheLargestTeamEnds) {
  constexpr int ranks = segment::most_members;
  for (std::size_t row = 0; row < all_rows<SimFabric>(Collective::barrier).size(); ++row)
    if (all_rows<SimFabric>(Collective::barrier)[row].fits({ranks, 0}))
      play(ranks, {Collective::barrier, row}, 0, 0);
}

// A table of so many blocks would not fit a slot, and the last slot ends where another desk begins.
TEST(ManyRanks, OperandsThatARootGathersNeedNoTable) {
  for (const Algorithm& algorithm : all_algorithms<SimFabric>())
    if (name_of<SimFabric>(algorithm) == "Reduce_late_gathered")
      play(2 * limits::most_listed_ranks, algorithm, 520, 0, segment::slots + 1);
}

}  // namespace
}  // namespace tutti::test
