// SPDX-License-Identifier: BSD-3-Clause
// Machines with hundreds of cores: more ranks than the rings and rounds of small ones are built
// for.
#include <gtest/gtest.h>

#include "fabric/sim.h"
#include "support/scene.h"

namespace tutti::test {
namespace {

using fabric::SimFabric;
using fabric::Simulator;

// 257 ranks need nine rounds of dissemination: one more than a desk has lines.
TEST(ManyRanks, EveryAlgorithmEnds) {
  for (const int ranks : {256, 257, 300}) {
    for (const Algorithm& algorithm : all_algorithms<SimFabric>()) {
      Script script{.ranks = ranks, .ops = {}};
      const Op op{.algorithm = algorithm, .root = ranks - 1, .kind = 0, .count = 3, .seed = 5};
      script.ops.assign(2, op);
      Scene scene(script);
      Simulator simulator(ranks, 1, {});
      int stuck = 0;
      ASSERT_TRUE(simulator.run([&](SimFabric& f) { return scene.play(f); }, &stuck))
          << stuck << " of " << ranks << " ranks wait for ever in "
          << name_of<SimFabric>(algorithm);
      EXPECT_EQ(scene.verdict(), "");
    }
  }
}

}  // namespace
}  // namespace tutti::test
