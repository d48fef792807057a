// SPDX-License-Identifier: BSD-3-Clause
// A wait that sleeps interrupts the others once, however long it lasts: who waits for a straggler
// must not slow it down. And when it is over, nobody pays for it any more.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>

#include "progress/in_order_queue.h"
#include "progress/progress.h"
#include "support/count_syscalls.h"
#include "support/plans.h"
#include "support/thread_ranks.h"

namespace tutti::test {
namespace {

using progress::Driver;
using progress::Settings;

constexpr int many = 50;

class QuietWait : public ::testing::Test {
 protected:
  static segment::WaitPolicy impatient() { return {0, 0, os::enable_asymmetric_fence()}; }

  void SetUp() override {
    if (!impatient().asymmetric_fence) GTEST_SKIP() << "no membarrier here";
    g_fences = g_naps = g_wakes = 0;
  }
  // A number of naps after which one more fence would have been seen.
  static void await_naps() {
    while (g_naps < many) std::this_thread::yield();
  }
  void expect_nobody_asleep() const {
    for (const segment::Desk* desk : ranks_.desks()) EXPECT_EQ(desk->sleepers.load(), 0u);
  }

  ThreadRanks ranks_{2, impatient()};
};

TEST_F(QuietWait, InABlockingCollective) {
  fabric::Upkeep::set([] {});  // naps are short then
  ranks_.run([](fabric::NodeFabric& f) -> fabric::Task {
    const fabric::Step step = f.next_step();
    if (f.rank() == 0) {
      co_await f.posted(1, step);
    } else {
      await_naps();
      f.post(step, {});
    }
  });
  fabric::Upkeep::set(nullptr);
  EXPECT_GE(g_naps, many);
  EXPECT_EQ(g_fences, 1);
  EXPECT_EQ(g_wakes, 1);
  expect_nobody_asleep();
}

// A rank of two with one nonblocking collective.
struct Member {
  Member(ThreadRanks& ranks, int rank, const Settings& settings)
      : queue(ranks.peers(), ranks.transports(), settings.wait_policy, ThreadRanks::emergencies(),
              ranks.desks(), rank,
              usual_plans<fabric::SuspendingFabric>(static_cast<int>(ranks.desks().size()))) {
    driver.configure(settings);
  }
  void post_barrier() {
    operation.collective = coll::Collective::barrier;
    operation.queue = &queue;
    driver.post(operation);
  }

  Driver driver;
  progress::InOrderQueue queue;
  progress::Operation operation;
};

TEST_F(QuietWait, OfARankForItsRequest) {
  const Settings settings{.thread = false, .wait_policy = impatient()};
  Member first(ranks_, 0, settings), second(ranks_, 1, settings);
  first.post_barrier();
  std::thread waiter([&] {
    Driver::Wait wait(first.driver);
    while (!first.driver.has_finished()) wait.step(true);
  });
  await_naps();
  const int wakes = g_wakes;
  second.post_barrier();
  waiter.join();
  EXPECT_EQ(g_fences, 1);
  EXPECT_GT(g_wakes, wakes);
  EXPECT_FALSE(first.driver.finished().empty() || second.driver.finished().empty());
  expect_nobody_asleep();
}

// Who has taken an operation may not have told the MPI yet that it is over.
TEST_F(QuietWait, OutstandingUntilItIsCompleted) {
  const Settings alone{.thread = false, .wait_policy = impatient()};
  Member first(ranks_, 0, alone), second(ranks_, 1, alone);
  first.post_barrier();
  second.post_barrier();
  while (!first.driver.has_finished()) second.driver.drive(), first.driver.drive();
  EXPECT_FALSE(first.driver.finished().empty());
  EXPECT_EQ(first.driver.outstanding(), 1u);
  {  // and nobody sleeps meanwhile
    Driver::Wait wait(first.driver);
    for (int i = 0; i < 1000; ++i) wait.step(true);
    EXPECT_TRUE(wait.would_sleep());
  }
  first.driver.completed();
  EXPECT_EQ(first.driver.outstanding(), 0u);
  expect_nobody_asleep();
}

TEST_F(QuietWait, OfTheProgressThread) {
  const Settings alone{.thread = false, .wait_policy = impatient()};
  Member first(ranks_, 0, {.wait_policy = impatient()}), second(ranks_, 1, alone);
  first.post_barrier();
  await_naps();
  EXPECT_EQ(g_fences, 1);
  second.post_barrier();
  while (!first.driver.has_finished()) std::this_thread::yield();
  first.driver.stop();
  EXPECT_FALSE(first.driver.finished().empty() || second.driver.finished().empty());
  expect_nobody_asleep();
}

// Each nap that its timer ends takes the core from the rank.
TEST_F(QuietWait, OfTheProgressThreadTakesFewNaps) {
  if (!os::can_wait_for_several()) GTEST_SKIP() << "no futex_waitv here";
  const Settings alone{.thread = false, .wait_policy = impatient()};
  Member first(ranks_, 0, {.wait_policy = impatient()}), second(ranks_, 1, alone);
  const auto naps_in = [](useconds_t us) {
    const int before = g_naps;
    ::usleep(us);
    return g_naps - before;
  };
  first.post_barrier();
  EXPECT_LT(naps_in(200'000), 60);  // of which 12 are short ones
  second.post_barrier();
  while (!first.driver.has_finished()) std::this_thread::yield();
  EXPECT_LT(naps_in(100'000), 10);
  first.driver.stop();
  EXPECT_FALSE(first.driver.finished().empty() || second.driver.finished().empty());
  expect_nobody_asleep();
}

// Where the kernel cannot wait for several flags, the thread does not try to.
TEST_F(QuietWait, OfTheProgressThreadOnAnOldKernel) {
  const Settings alone{.thread = false, .wait_policy = impatient()};
  Member first(ranks_, 0, {.wait_policy = impatient()}), second(ranks_, 1, alone);
  g_has_futex_waitv = false;
  first.post_barrier();
  ::usleep(100'000);  // a millisecond each, after 12 short ones
  EXPECT_LT(g_naps, 150);
  second.post_barrier();
  while (!first.driver.has_finished()) std::this_thread::yield();
  first.driver.stop();
  g_has_futex_waitv = true;
  EXPECT_FALSE(first.driver.finished().empty() || second.driver.finished().empty());
  expect_nobody_asleep();
}

// A rank that waits drives by itself. The thread has to hear of the end of the wait, but not of
// each of many that follow each other.
TEST_F(QuietWait, SparesTheProgressThreadOfMany) {
  const Settings alone{.thread = false, .wait_policy = impatient()};
  Member first(ranks_, 0, {.wait_policy = impatient()}), second(ranks_, 1, alone);
  first.post_barrier();
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
  int waits = 0;
  for (; std::chrono::steady_clock::now() < end; ++waits) {
    Driver::Wait wait(first.driver);
    for (int step = 0; step < 20; ++step) wait.step(false);
  }
  EXPECT_LT(g_wakes, 300) << waits << " waits";
  second.post_barrier();
  while (!first.driver.has_finished()) std::this_thread::yield();
  first.driver.stop();
  EXPECT_FALSE(first.driver.finished().empty() || second.driver.finished().empty());
  expect_nobody_asleep();
}

}  // namespace
}  // namespace tutti::test
