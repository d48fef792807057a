// SPDX-License-Identifier: BSD-3-Clause
// What it takes to choose an algorithm, which each call does, and to make the plans for a number of
// ranks, which the first team of that size does.
//
//   plans_bench
#include <benchmark/benchmark.h>

#include "coll/plans.h"
#include "lab/timed.h"

namespace tutti {
namespace {

using lab::TimedFabric;

// Sizes that no branch predictor foresees, of the same rung of the ladder or of any.
void choose(benchmark::State& state) {
  const auto plans = coll::make_plans<TimedFabric>(2, choice::usual);
  const auto most = static_cast<std::uint32_t>(state.range(0));
  coll::Work work;
  std::uint32_t random = 1;
  for (auto _ : state) {
    random = random * 1664525 + 1013904223;
    work.count = random % most;
    benchmark::DoNotOptimize(coll::row_of<TimedFabric>(plans, coll::Collective::allreduce, work));
  }
}

// The loop without the choice.
void draw(benchmark::State& state) {
  const auto most = static_cast<std::uint32_t>(state.range(0));
  coll::Work work;
  std::uint32_t random = 1;
  for (auto _ : state) {
    random = random * 1664525 + 1013904223;
    work.count = random % most;
    benchmark::DoNotOptimize(work);
  }
}

void make_plans(benchmark::State& state) {
  const auto ranks = static_cast<int>(state.range(0));
  for (auto _ : state)
    benchmark::DoNotOptimize(coll::make_plans<TimedFabric>(ranks, choice::usual));
}

BENCHMARK(draw)->Arg(112)->Arg(32 << 10);
BENCHMARK(choose)->Arg(112)->Arg(32 << 10);
BENCHMARK(make_plans)->Arg(2)->Arg(128)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace tutti

BENCHMARK_MAIN();
