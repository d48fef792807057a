// SPDX-License-Identifier: BSD-3-Clause
// What is learned of stores, on a cache that is modelled: streaming stores push the result
// out of it, so that the next call finds it cold.
#include "choice/learned.h"
#include "reduce/reduce.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace tutti::choice {
namespace {

using reduce::Stores;

constexpr std::size_t bytes = std::size_t{1} << 20;

// What a call takes, of whose predecessor the stores are known.
using Machine = std::function<std::uint64_t(Stores stores, Stores before, int call)>;

struct Outcome {
  int calls = 0;
  int streaming = 0;
  std::uint64_t ticks = 0;
};

// `calls` on one buffer by ranks that choose for themselves and all take as long as the slowest.
// Those before `from` are not counted.
Outcome play(const Machine& machine, int calls, int from = 0, bool otherwise = false) {
  const int ranks = 2;
  std::vector<Learner> learners(static_cast<std::size_t>(ranks), Learner(true));
  std::vector<Distances> distances(static_cast<std::size_t>(ranks));
  std::vector<Stores> before(static_cast<std::size_t>(ranks), Stores::plain);
  std::vector<char> buffers(static_cast<std::size_t>(ranks));
  Outcome outcome;
  for (int call = 0; call < calls; ++call) {
    std::vector<Learner::Choice> choices;
    std::uint64_t ticks = 0;
    for (std::size_t r = 0; r < learners.size(); ++r) {
      const std::size_t distance = distances[r].of(&buffers[r], bytes);
      choices.push_back(learners[r].choose(Collective::allgather, bytes, distance, otherwise));
      const Stores stores = choices[r].second ? Stores::streaming : Stores::plain;
      ticks = std::max(ticks, machine(stores, before[r], call));
      before[r] = stores;
    }
    for (std::size_t r = 0; r < learners.size() && ticks != 0; ++r)
      learners[r].learn(choices[r], ticks, bytes);
    if (call < from) continue;
    ++outcome.calls;
    outcome.streaming += choices[0].second;
    outcome.ticks += ticks;
  }
  return outcome;
}

// Ticks as a result of 1 MiB took them that stays in a cache between calls.
std::uint64_t hot(Stores stores, Stores before, int /*call*/) {
  if (stores == Stores::streaming) return 190'000;
  return before == Stores::streaming ? 250'000 : 70'000;
}

std::uint64_t cold(Stores stores, Stores /*before*/, int /*call*/) {
  return stores == Stores::streaming ? 190'000 : 280'000;
}

TEST(Learner, KeepsInTheCacheWhatIsInTheCache) { EXPECT_LE(play(hot, 2000).streaming, 25); }

TEST(Learner, StreamsWhatIsInNoCache) { EXPECT_GE(play(cold, 2000).streaming, 1950); }

TEST(Learner, TriesLittle) {
  const Outcome late = play(hot, 10'000, 2000);
  EXPECT_LE(static_cast<double>(late.ticks), 1.02 * 70'000 * late.calls);
}

// The slower way is left as soon as it is clear that it is.
TEST(Learner, TriesLittleWhatIsMuchSlower) { EXPECT_EQ(play(hot, 100).streaming, 3); }

TEST(Learner, OneLostCoreSaysNothing) {
  for (const int lost : {7, 8}) {  // those that may end streaming's part of the trial
    const Machine machine = [&](Stores stores, Stores, int call) -> std::uint64_t {
      return (stores == Stores::streaming ? 60'000 : 70'000) + (call == lost ? 100'000'000u : 0u);
    };
    EXPECT_GE(play(machine, 120).streaming, 110) << lost;
  }
  for (int lost = 0; lost < 12; ++lost) {
    const Machine machine = [&](Stores stores, Stores before, int call) {
      return hot(stores, before, call) + (call == lost ? 100'000'000u : 0u);
    };
    EXPECT_LE(play(machine, 120).streaming, 5) << lost;
  }
}

// Every second call finds the caches as somebody else's work left them.
TEST(Learner, SeesWhatCallsTakeThatNothingCameBetween) {
  for (int phase = 0; phase < 2; ++phase) {
    const Machine machine = [&](Stores stores, Stores before, int call) {
      return hot(stores, call % 2 == phase ? Stores::streaming : before, call);
    };
    EXPECT_LE(play(machine, 120).streaming, 5) << phase;
  }
}

// After some calls all become faster, whatever the stores, as when buffers are mapped.
TEST(Learner, IsNotMisledByWhatHelpsBothWays) {
  for (int change = 0; change < 30; ++change) {
    const Machine improves = [&](Stores stores, Stores before, int call) {
      return hot(stores, before, call) * (call < change ? 4 : 1);
    };
    EXPECT_LE(play(improves, 2000).streaming, 25) << change;
  }
}

// The first calls tell nothing.
TEST(Learner, ComparesNoWayWithNothing) {
  for (int silent = 0; silent < 30; ++silent) {
    const Machine begins = [&](Stores stores, Stores before, int call) {
      return call < silent ? 0 : hot(stores, before, call);
    };
    EXPECT_LE(play(begins, 2000).streaming, 25) << silent;
  }
}

TEST(Learner, TakesTheOtherwiseWhileNothingIsKnown) {
  const Machine silent = [](Stores, Stores, int) -> std::uint64_t { return 0; };
  EXPECT_LE(play(silent, 100).streaming, 5);
  EXPECT_GE(play(silent, 100, 0, true).streaming, 90);
}

// A program's data outgrows the cache, and shrinks again.
TEST(Learner, LearnsAnew) {
  const Machine grows = [](Stores stores, Stores before, int call) {
    return call < 1000 ? hot(stores, before, call) : cold(stores, before, call);
  };
  EXPECT_GE(play(grows, 4000, 3000).streaming, 990);
  const Machine shrinks = [](Stores stores, Stores before, int call) {
    return call < 1000 ? cold(stores, before, call) : hot(stores, before, call);
  };
  EXPECT_LE(play(shrinks, 4000, 3000).streaming, 10);
}

}  // namespace
}  // namespace tutti::choice
