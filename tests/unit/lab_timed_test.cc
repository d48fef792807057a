// SPDX-License-Identifier: BSD-3-Clause
// Virtual time: what a machine does with transfers, computation and cores that are shared.
#include "lab/timed.h"

#include <gtest/gtest.h>

#include "coll/coll.h"

namespace tutti::lab {
namespace {

// 1 byte a nanosecond, and a core more than ranks.
TimedMachine machine_of(std::vector<Binding> bindings, Machine machine = {.cores = 4}) {
  return TimedMachine(machine, std::move(bindings));
}

Task transfer(TimedFabric& f, Executor executor, std::size_t bytes) {
  co_await f.on(executor);
  co_await f.pause(bytes);
}

TEST(Timed, TransfersTakeTheirBytesAndALatency) {
  TimedMachine machine({.cores = 2, .bytes_per_ns = 4, .latency_ns = 100, .scale = 8}, {{0, 1}});
  ASSERT_TRUE(machine.run([](TimedFabric& f) { return transfer(f, Executor::progress, 1000); },
                          {.compute_ns = 0}));
  EXPECT_EQ(machine.end_ns(), 100 + 1000 * 8 / 4);
}

TEST(Timed, AProgressThreadOnItsOwnCoreOverlaps) {
  TimedMachine machine = machine_of({{0, 3}});
  const auto body = [](TimedFabric& f) { return transfer(f, Executor::progress, 1000); };
  ASSERT_TRUE(machine.run(body, {.compute_ns = 800}));
  EXPECT_EQ(machine.end_ns(), 1000);
  ASSERT_TRUE(machine.run(body, {.compute_ns = 1300}));
  EXPECT_EQ(machine.end_ns(), 1300);
}

// Moves 100 bytes when rank 0 has, and rank 0 at once.
Task relay(TimedFabric& f, Executor executor) {
  f.begin(1);
  co_await f.on(executor);
  const Step step = f.next_step();
  if (f.rank() > 0) co_await f.posted(f.rank() - 1, step);
  co_await f.pause(100);
  f.post(step, {});
  f.finish(step);
}

TEST(Timed, AProgressThreadOnItsRanksCoreDoesNotOverlap) {
  const auto body = [](TimedFabric& f) { return relay(f, Executor::progress); };
  TimedMachine patient = machine_of({{0, 0}, {1, 1}});
  ASSERT_TRUE(patient.run(body, {.compute_ns = 800}));
  EXPECT_EQ(patient.end_ns(0), 900);  // was ready first
  EXPECT_EQ(patient.end_ns(1), 900);  // computed first
  ASSERT_TRUE(patient.run(body, {.compute_ns = 50}));
  EXPECT_EQ(patient.end_ns(1), 200);
}

TEST(Timed, AProgressThreadMayInterruptItsRank) {
  const auto body = [](TimedFabric& f) { return relay(f, Executor::progress); };
  TimedMachine machine = machine_of({{0, 0}, {1, 1}}, {.cores = 2, .interrupts = true});
  ASSERT_TRUE(machine.run(body, {.compute_ns = 800}));
  EXPECT_EQ(machine.end_ns(0), 900);
  EXPECT_EQ(machine.end_ns(1), 900);
  const Trace& trace = machine.trace();
  const auto count = std::count_if(trace.spans.begin(), trace.spans.end(), [](const auto& span) {
    return span.core == 1 && span.kind == Trace::Kind::computing;
  });
  EXPECT_EQ(count, 2);  // from 0 to 100 and from 200 to 900
  ASSERT_TRUE(machine.run(body, {.compute_ns = 50}));
  EXPECT_EQ(machine.end_ns(1), 200);
}

TEST(Timed, ProgressThreadsOnOneCoreComeOneAfterTheOther) {
  TimedMachine machine = machine_of({{0, 3}, {1, 3}, {2, 3}});
  ASSERT_TRUE(machine.run([](TimedFabric& f) { return transfer(f, Executor::progress, 1000); },
                          {.compute_ns = 10}));
  EXPECT_EQ(machine.end_ns(0), 1000);
  EXPECT_EQ(machine.end_ns(1), 2000);
  EXPECT_EQ(machine.end_ns(2), 3000);
}

TEST(Timed, WhatTheRankDoesItselfDoesNotOverlap) {
  TimedMachine machine = machine_of({{0, 3}});
  // In the call ...
  ASSERT_TRUE(machine.run([](TimedFabric& f) { return transfer(f, Executor::rank, 1000); },
                          {.compute_ns = 800}));
  EXPECT_EQ(machine.end_ns(), 1800);
  // ... or, once the progress thread had it, in the wait.
  ASSERT_TRUE(machine.run(
      [](TimedFabric& f) -> Task {
        co_await f.on(Executor::progress);
        co_await f.pause(500);
        co_await f.on(Executor::rank);
        co_await f.pause(1000);
      },
      {.compute_ns = 800}));
  EXPECT_EQ(machine.end_ns(), 1800);
}

TEST(Timed, ABlockingCallDoesAllItself) {
  TimedMachine machine = machine_of({{0, 3}});
  ASSERT_TRUE(machine.run([](TimedFabric& f) { return transfer(f, Executor::progress, 1000); },
                          {.blocking = true, .compute_ns = 800}));
  EXPECT_EQ(machine.end_ns(), 1800);
}

TEST(Timed, AWaitFreesTheCore) {
  // All on one core: had rank 2 kept it while it waits, nobody would ever end.
  TimedMachine machine = machine_of({{0, 3}, {1, 3}, {2, 3}});
  ASSERT_TRUE(machine.run([](TimedFabric& f) { return relay(f, Executor::progress); }, {}));
  EXPECT_EQ(machine.end_ns(), 300);
}

TEST(Timed, WhatAnyoneMayDoIsLeftToTheProgressThread) {
  TimedMachine machine = machine_of({{0, 3}, {1, 3}});
  ASSERT_TRUE(
      machine.run([](TimedFabric& f) { return relay(f, Executor::either); }, {.compute_ns = 1000}));
  // Rank 0 had work, rank 1 to wait; neither kept them in the call.
  EXPECT_EQ(machine.end_ns(0), 1000);
  EXPECT_EQ(machine.end_ns(1), 1000);
}

TEST(Timed, WhatAnyoneMayDoTheRankDoesOnceItWaits) {
  // Four times 100 each, on one core for the threads of two ranks.
  const auto body = [](TimedFabric& f) -> Task {
    for (int i = 0; i < 4; ++i) co_await f.pause(100);
  };
  TimedMachine machine = machine_of({{0, 3}, {1, 3}});
  ASSERT_TRUE(machine.run(body, {.compute_ns = 1000}));
  EXPECT_EQ(machine.end_ns(), 1000);
  // The thread of rank 0 is in its second 100 when both come; that of rank 1 has not begun.
  ASSERT_TRUE(machine.run(body, {.compute_ns = 150}));
  EXPECT_EQ(machine.end_ns(0), 400);
  EXPECT_EQ(machine.end_ns(1), 550);
  ASSERT_TRUE(machine.run(body, {.blocking = true, .compute_ns = 150}));
  EXPECT_EQ(machine.end_ns(), 550);
}

TEST(Timed, ReportsDeadlock) {
  TimedMachine machine = machine_of({{0, 3}, {1, 3}});
  EXPECT_FALSE(machine.run(
      [](TimedFabric& f) -> Task {
        const Step step = f.next_step();
        co_await f.posted(1 - f.rank(), step);
      },
      {}));
}

TEST(Timed, TracesAllOfEveryCoreAndEveryMessage) {
  TimedMachine machine = machine_of({{0, 3}, {1, 3}});
  ASSERT_TRUE(machine.run(
      [](TimedFabric& f) -> Task {
        co_await f.on(Executor::progress);
        (void)f.map(1 - f.rank(), {});
        co_await f.pause(100);
      },
      {.compute_ns = 150}));
  const Trace& trace = machine.trace();
  std::vector<std::int64_t> covered(4, 0);
  for (const Trace::Span& span : trace.spans) {
    auto& until = covered[static_cast<std::size_t>(span.core)];
    EXPECT_EQ(span.begin_ns, until);
    until = span.end_ns;
  }
  EXPECT_EQ(covered, (std::vector<std::int64_t>{200, 200, 200, 200}));
  ASSERT_EQ(trace.messages.size(), 2u);
  EXPECT_EQ(trace.messages[1].bytes, 100u);
  EXPECT_EQ(trace.messages[1].from_rank, 0);
  EXPECT_EQ(trace.messages[1].to_rank, 1);
  EXPECT_EQ(trace.messages[1].to_core, 3);
  EXPECT_EQ(trace.messages[1].begin_ns, 100);
  EXPECT_EQ(trace.messages[1].end_ns, 200);
  EXPECT_EQ(trace.spans[0].kind, Trace::Kind::computing);
  EXPECT_EQ(trace.spans[1].kind, Trace::Kind::waiting);
}

}  // namespace
}  // namespace tutti::lab
