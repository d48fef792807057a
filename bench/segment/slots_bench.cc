// SPDX-License-Identifier: BSD-3-Clause
// What it costs to pass pieces through a slot from one core to another: the owner fills the slot,
// the reader copies it out, and either leaves its lines alone or writes a byte of each back
// (segment::hand_back), which is what the owner's next stores meet.
//
//   slots_bench --benchmark_filter='hand_back/4096'
//
// Two threads, on the first two cores that this process may use.
#include <benchmark/benchmark.h>
#include <sched.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "coll/coll.h"
#include "segment/desk.h"

namespace tutti {
namespace {

using segment::Step;

// The thread that calls goes to the index-th core.
void pin(int index) {
  static const cpu_set_t allowed = [] {
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    return set;
  }();
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed) && index-- == 0) CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof one, &one);
}

void await(const std::atomic<Step>& word, Step step) {
  while (word.load(std::memory_order_acquire) < step) {
  }
}

void pass_through(benchmark::State& state, bool back) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  const auto owner = std::make_unique<segment::Desk>(), reader = std::make_unique<segment::Desk>();
  const auto slot = [&](Step step) { return owner->staging[step % segment::slots]; };
  constexpr Step over = ~Step{0};
  std::atomic<Step> last{over};
  pin(0);
  std::thread other([&] {
    pin(1);  // the owner has looked which there are
    std::vector<std::byte> into(bytes);
    for (Step step = 1; step <= last.load(std::memory_order_acquire); ++step) {
      const std::atomic<Step>& posted = owner->lines[step % segment::ring].step;
      while (posted.load(std::memory_order_acquire) < step)
        if (step > last.load(std::memory_order_acquire)) return;
      reduce::copy(into.data(), slot(step), bytes);
      benchmark::DoNotOptimize(into.data());
      if (back) segment::hand_back(slot(step), bytes);
      reader->done.store(step, std::memory_order_release);
    }
  });
  std::vector<std::byte> from(bytes, std::byte{1});
  Step step = 0;
  for (auto _ : state) {
    ++step;
    if (step > segment::slots) await(reader->done, step - segment::slots);
    reduce::copy(slot(step), from.data(), bytes);
    owner->lines[step % segment::ring].step.store(step, std::memory_order_release);
  }
  await(reader->done, step);
  last.store(step, std::memory_order_release);
  other.join();
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * bytes));
}

void leave(benchmark::State& state) { pass_through(state, false); }
void hand_back(benchmark::State& state) { pass_through(state, true); }

BENCHMARK(leave)->RangeMultiplier(2)->Range(512, 32 << 10)->UseRealTime();
BENCHMARK(hand_back)->RangeMultiplier(2)->Range(512, 32 << 10)->UseRealTime();

}  // namespace
}  // namespace tutti

BENCHMARK_MAIN();
