// SPDX-License-Identifier: BSD-3-Clause
// The simulator itself: that what it says can be believed.
#include "lab/sim.h"

#include <gtest/gtest.h>

#include <set>

#include "coll/coll.h"
#include "lab/sim_wire.h"

namespace tutti::lab {
namespace {

// Rounds in which everyone posts and looks at everyone; notes who gets through when.
Task chatter(SimFabric& f, int rounds, std::vector<int>& order) {
  f.begin(1);
  for (int round = 0; round < rounds; ++round) {
    const Step step = f.next_step();
    co_await f.room(step);
    f.post(step, {});
    for (int q = 0; q < f.size(); ++q)
      if (q != f.rank()) co_await f.posted(q, step);
    f.finish(step);
    order.push_back(f.rank());
  }
}

struct Outcome {
  std::vector<int> order;
  std::uint64_t schedule;
};

Outcome play(std::uint64_t seed, int ranks = 4) {
  Outcome outcome{};
  Simulator simulator(ranks, seed);
  EXPECT_TRUE(simulator.run([&](SimFabric& f) { return chatter(f, 20, outcome.order); }));
  outcome.schedule = simulator.schedule();
  return outcome;
}

TEST(Simulator, OneSeedIsOneSchedule) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const Outcome first = play(seed), second = play(seed);
    EXPECT_EQ(first.order, second.order);
    EXPECT_EQ(first.schedule, second.schedule);
  }
}

TEST(Simulator, SeedsDiffer) {
  std::set<std::vector<int>> orders;
  std::set<std::uint64_t> schedules;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const Outcome outcome = play(seed);
    orders.insert(outcome.order);
    schedules.insert(outcome.schedule);
  }
  EXPECT_GE(orders.size(), 95u);
  EXPECT_EQ(schedules.size(), 100u);
}

TEST(Simulator, ReportsDeadlock) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Simulator simulator(3, seed);
    int stuck = 0;
    // Rank 2 never posts, so that the other two wait for ever.
    EXPECT_FALSE(simulator.run(
        [](SimFabric& f) -> Task {
          const Step step = f.next_step();
          if (f.rank() == 2) co_return;
          f.post(step, {});
          co_await f.posted((f.rank() + 1) % 3, step);
          co_await f.posted(2, step);
        },
        &stuck));
    EXPECT_EQ(stuck, 2);
  }
}

TEST(Simulator, ReportsWaitsForRoomThatNobodyGives) {
  Simulator simulator(2, 1);
  int stuck = 0;
  EXPECT_FALSE(simulator.run(
      [](SimFabric& f) -> Task {
        for (std::size_t i = 0; i <= segment::ring; ++i) {
          const Step step = f.next_step();
          co_await f.room(step);
          f.post(step, {});
        }
      },
      &stuck));
  EXPECT_EQ(stuck, 2);
}

TEST(Simulator, CountsMismatchedCalls) {
  Simulator simulator(3, 7);
  EXPECT_TRUE(simulator.run([](SimFabric& f) -> Task {
    f.begin(f.rank() == 1 ? 11 : 10);
    const Step step = f.next_step();
    f.post(step, {});
    for (int q = 0; q < 3; ++q)
      if (q != f.rank()) co_await f.posted(q, step);
  }));
  EXPECT_EQ(simulator.mismatches(), 4);  // 1 with 0 and 2, and each of them with 1
}

TEST(Simulator, CountsForbiddenCopies) {
  Simulator simulator(2, 7, {Transport::staged});
  std::uint64_t words[2] = {1, 2};
  EXPECT_TRUE(simulator.run([&](SimFabric& f) -> Task {
    const Card card = f.offer(&words[1], sizeof words[1]);
    EXPECT_EQ(f.map(1 - f.rank(), card), nullptr);
    if (f.rank() == 0) f.read(1, card, 0, &words[0], sizeof words[0]);
    co_return;
  }));
  EXPECT_EQ(simulator.trespasses(), 1);
}

TEST(Simulator, CountsOffersOfWhatPeersWriteTo) {
  Simulator simulator(2, 7, {Transport::copied});
  std::uint64_t words[3] = {1, 2, 3};
  const auto write_then_offer = [&](std::size_t offered, bool next_call) {
    const int before = simulator.trespasses();
    EXPECT_TRUE(simulator.run([&](SimFabric& f) -> Task {
      f.begin(1);
      const Step step = f.next_step();
      if (f.rank() == 1) {
        const Card card = f.offer(&words[0], 2 * sizeof words[0]);
        f.post(step, {reinterpret_cast<const std::byte*>(&card), sizeof card});
        co_await f.posted(0, step);
        if (next_call) f.begin(2), (void)f.next_step();
        (void)f.offer(&words[offered], sizeof words[0]);
      } else {
        Card card;
        std::memcpy(&card, co_await f.posted(1, step), sizeof card);
        f.write(1, card, sizeof words[0], &words[2], sizeof words[2]);
        f.post(step, {});
      }
    }));
    return simulator.trespasses() - before;
  };
  EXPECT_EQ(write_then_offer(1, false), 1);
  EXPECT_EQ(write_then_offer(0, false), 0) << "next to it";
  EXPECT_EQ(write_then_offer(1, true), 0);
}

// A network reads and writes by itself, and does not see what becomes of another process's memory.
TEST(Simulator, CountsMessagesOfAPeersMemory) {
  std::uint64_t words[3] = {1, 2, 3}, other = 0;
  enum Way : std::uint8_t { sends, receives };
  const auto trespasses = [&](Way way, std::size_t first, bool by_owner) {
    Simulator simulator(std::vector<std::int32_t>{0, 0, 1}, 7, {Transport::mapped});
    lab::SimMail mail(3);
    std::vector<lab::SimWire> wires;
    for (int rank = 0; rank < 3; ++rank) wires.emplace_back(simulator, mail, rank);
    EXPECT_TRUE(simulator.run_ranks([&](int rank) -> Task {
      SimFabric& f = simulator.fabric(rank);
      lab::SimWire& wire = wires[static_cast<std::size_t>(rank)];
      const int member = by_owner ? 0 : 1;
      f.begin(1);
      const Step step = f.next_step();
      if (rank == 0) {
        const Card card = f.offer(&words[0], 2 * sizeof words[0]);
        f.post(step, {reinterpret_cast<const std::byte*>(&card), sizeof card});
        f.begin_stage();  // of the same call
      } else if (rank == 1) {
        Card card;
        std::memcpy(&card, co_await f.posted(0, step), sizeof card);
        EXPECT_NE(f.map(0, card), nullptr);
      }
      constexpr std::size_t bytes = sizeof words[0];
      if (rank == member)
        co_await wire.done(way == sends ? wire.send(2, &words[first], bytes)
                                        : wire.receive(2, &words[first], bytes));
      if (rank == 2)
        co_await wire.done(way == sends ? wire.receive(member, &other, bytes)
                                        : wire.send(member, &other, bytes));
    }));
    return simulator.trespasses();
  };
  for (const Way way : {sends, receives}) {
    EXPECT_EQ(trespasses(way, 1, false), 1);
    EXPECT_EQ(trespasses(way, 1, true), 0) << "its own";
    EXPECT_EQ(trespasses(way, 2, false), 0) << "not mapped";
  }
}

TEST(Simulator, DrawsEveryWayItMay) {
  Simulator simulator(2, 3, {Transport::mapped, Transport::staged});
  int seen[3] = {0, 0, 0};
  for (int i = 0; i < 200; ++i)
    ++seen[static_cast<int>(simulator.fabric(0).offer(&seen, sizeof seen).transport)];
  EXPECT_GT(seen[static_cast<int>(Transport::mapped)], 50);
  EXPECT_EQ(seen[static_cast<int>(Transport::copied)], 0);
  EXPECT_GT(seen[static_cast<int>(Transport::staged)], 50);
}

// A rank may be overtaken between a store that others see and its next statement, and a nested
// coroutine may wait on behalf of its caller.
TEST(Simulator, InterruptsBetweenStores) {
  int overtaken = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Simulator simulator(2, seed);
    bool between = false;
    ASSERT_TRUE(simulator.run([&](SimFabric& f) -> Task {
      const Step step = f.next_step();
      if (f.rank() == 0) {
        between = true;
        f.post(step, {});
        between = false;
      } else {
        const auto inner = [](SimFabric& g, Step s) -> Task { co_await g.posted(0, s); };
        co_await inner(f, step);
        overtaken += between;
      }
    }));
  }
  EXPECT_GT(overtaken, 10);
  EXPECT_LT(overtaken, 190);
}

// Some schedules let one rank run as far ahead as the protocol allows.
TEST(Simulator, LetsRanksRunAhead) {
  Step furthest = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Simulator simulator(3, seed);
    Step last[3] = {0, 0, 0};
    ASSERT_TRUE(simulator.run([&](SimFabric& f) -> Task {
      for (std::size_t i = 0; i < 4 * segment::ring; ++i) {
        const Step step = f.next_step();
        if (f.rank() == 0) {
          co_await f.room(step);
          f.post(step, {});
        } else {
          co_await f.posted(0, step);
        }
        last[f.rank()] = step;
        furthest = std::max(furthest, last[0] - std::min({last[0], last[1], last[2]}));
        f.finish(step);
      }
    }));
  }
  EXPECT_EQ(furthest, segment::ring);
}

}  // namespace
}  // namespace tutti::lab
