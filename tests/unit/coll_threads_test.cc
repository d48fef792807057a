// SPDX-License-Identifier: BSD-3-Clause
// Every algorithm on real threads, more of them than cores at times, with every kind of patience
// and every way to reach buffers. What the simulator cannot see is found here, by ThreadSanitizer
// at best: memory orders, lost wake-ups.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "coll/tables.h"
#include "support/scene.h"
#include "support/seeds.h"
#include "support/thread_ranks.h"

namespace tutti::test {
namespace {

using fabric::NodeFabric;

struct Waiting {
  const char* name;
  std::int64_t polls, yields;
  bool asymmetric_fence;
  Between between;
};

// Where a core is missing, pure spinning only ends when the kernel takes the core away: it is tried
// with two ranks and few rounds.
constexpr Waiting waitings[] = {
    {"spin", 1'000'000'000, 0, false, Between::threads},
    {"usual", 2000, 200, true, Between::threads},
    {"yield", 0, 1'000'000'000, false, Between::threads},
    {"sleep", 0, 0, false, Between::threads},
    {"sleep_asymmetric", 0, 0, true, Between::threads},
    {"sleep_copied", 0, 0, true, Between::copied},
    {"usual_copied", 2000, 200, true, Between::copied},
    {"sleep_staged", 0, 0, true, Between::staged},
};

class ThreadsOf : public ::testing::TestWithParam<Waiting> {};

std::string run(const Algorithm& algorithm, int ranks, const Waiting& waiting, std::uint64_t seed) {
  std::mt19937_64 random(mix(seed));
  const Limits limits{.ops = 30};
  Scene scene(draw_script<NodeFabric>(random, algorithm, ranks, limits));
  const bool fence = waiting.asymmetric_fence && os::enable_asymmetric_fence();
  ThreadRanks threads(ranks, {waiting.polls, waiting.yields, fence}, waiting.between);
  threads.run([&](NodeFabric& f) { return scene.play(f); });
  return scene.verdict();
}

TEST_P(ThreadsOf, GiveTheSequentialResult) {
  const Waiting& waiting = GetParam();
  const bool spins = waiting.polls > 1'000'000;
  const Seeds range = spins ? Seeds{1, 1} : seeds(12);
  for (const int ranks : {2, 3, 4, 7}) {
    if (spins && ranks > 2) continue;
    for (const Algorithm& algorithm : all_algorithms<NodeFabric>())
      for (std::uint64_t seed = range.first; seed <= range.last; ++seed)
        ASSERT_EQ(run(algorithm, ranks, waiting, seed), "")
            << name_of<NodeFabric>(algorithm) << " on " << ranks
            << " threads; TUTTI_TEST_SEED=" << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Waiting, ThreadsOf, ::testing::ValuesIn(waitings),
                         [](const auto& row) { return row.param.name; });

// What the desks of a freed communicator are taken to hold depends on it.
TEST(Slots, ThatAnExchangeInPlaceWritesAreNoted) {
  constexpr int ranks = 3;
  constexpr std::size_t block = 300'000;
  std::vector<std::byte> memory(ranks * ranks * block, std::byte{1});
  ThreadRanks threads(ranks, {0, 1'000'000, false}, Between::staged);
  threads.run([&](NodeFabric& f) -> fabric::Task {
    std::vector<coll::Block> blocks;
    for (int q = 0; q < ranks; ++q) {
      const auto at = static_cast<std::size_t>(f.rank() * ranks + q);
      blocks.push_back({memory.data() + at * block, block, nullptr});
    }
    f.begin(1);
    const coll::Work work{.in_place = true, .out = blocks, .in = blocks};
    co_await coll::rows_of<NodeFabric>(Collective::alltoallv).back().run(f, work);
  });
  const auto is_written = [](std::byte each) { return each != std::byte{}; };
  for (const segment::Desk* desk : threads.desks())
    for (std::size_t slot = 0; slot < segment::slots; ++slot)
      EXPECT_EQ(std::ranges::any_of(desk->staging[slot], is_written),
                (desk->staged.load() >> slot & 1) != 0)
          << "slot " << slot;
}

}  // namespace
}  // namespace tutti::test
