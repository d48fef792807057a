// SPDX-License-Identifier: BSD-3-Clause
// Sleeping and waking. A sleep that nobody ends lasts `never_ns`: one lost wake-up among all the
// handoffs is enough to be seen, however loaded the machine is.
#include "segment/sleeper.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "arch/arch.h"
#include "segment/desk.h"
#include "support/count_syscalls.h"
#include "support/fork_ranks.h"

namespace tutti::segment {
namespace {

using Clock = std::chrono::steady_clock;
using test::Rank;

constexpr std::int64_t never_ns = 30'000'000'000;
constexpr std::int64_t at_once_ns = 1'000;
constexpr int handoffs = 100'000;

// Two words, each with a count of its sleepers, in memory that forked processes share.
struct Table {
  struct alignas(line_bytes) Place {
    std::atomic<std::uint64_t> word;
    std::atomic<std::uint32_t> sleepers;
  };
  Place places[2];
  Place several[4];
  Place slow[48];
};

Table* shared_table() {
  void* memory =
      ::mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return static_cast<Table*>(memory);
}

// The store that follows is queued behind these, which miss all caches, and can be overtaken by a
// load: what the fences of wake() and nap() are there for.
void store_slowly(Table& table, std::uint64_t value) {
  arch::evict(table.slow, sizeof table.slow);
  for (Table::Place& place : table.slow) place.word.store(value, std::memory_order_relaxed);
}

void hand_over(Table& table, int mine, std::uint64_t i, const WaitPolicy& wait_policy,
               unsigned delay) {
  while (delay-- > 0) arch::relax();
  if (i % 4 == 0) store_slowly(table, i);
  Table::Place& my = table.places[mine];
  my.word.store(i, std::memory_order_release);
  wake(my.word, my.sleepers, wait_policy);
}

Awaited awaited(Table::Place& place, std::uint64_t seen) {
  return {&place.word, &place.sleepers, seen};
}

// The last of some naps of one wait, which only a change ends: false when its timeout did. Those
// before are over at once, and are all that makes a fence.
bool sleep_through(Sleeper& sleeper, Table::Place& place, std::uint64_t seen,
                   const WaitPolicy& wait_policy, unsigned naps) {
  const Awaited word = awaited(place, seen);
  for (; naps > 1; --naps) sleeper.nap({&word, 1}, wait_policy, at_once_ns);
  const auto start = Clock::now();
  sleeper.nap({&word, 1}, wait_policy, never_ns);
  return Clock::now() - start < std::chrono::nanoseconds(never_ns);
}

// Each in turn waits for the other's word to reach `i` and answers. With `jitter`, both take a
// random time that is about as long as the way into sleep, so that many stores fall right into it,
// and some into a later nap. False when a sleep was ended by its timeout alone.
bool ping_pong(Table& table, int mine, const WaitPolicy& wait_policy, bool jitter) {
  std::minstd_rand random(static_cast<unsigned>(mine) + 1);
  const auto delay = [&] { return jitter ? static_cast<unsigned>(random() % 64) : 0; };
  Table::Place& other = table.places[1 - mine];
  for (std::uint64_t i = 1; i <= handoffs; ++i) {
    if (mine == 0) hand_over(table, mine, i, wait_policy, delay());
    for (unsigned left = delay(); left > 0 && other.word.load(std::memory_order_acquire) < i;
         --left)
      arch::relax();
    Sleeper sleeper;
    const unsigned naps = jitter ? 1 + random() % 3 : 1;
    for (std::uint64_t seen; (seen = other.word.load(std::memory_order_acquire)) < i;)
      if (!sleep_through(sleeper, other, seen, wait_policy, naps)) return false;
    sleeper.leave();
    if (mine == 1) hand_over(table, mine, i, wait_policy, delay());
  }
  return true;
}

class Wakeups : public ::testing::TestWithParam<bool> {};

WaitPolicy impatient(bool asymmetric) {
  return {0, 0, asymmetric && os::enable_asymmetric_fence()};
}

TEST_P(Wakeups, AreNeverLostBetweenProcesses) {
  Table* table = shared_table();
  ASSERT_NE(table, MAP_FAILED);
  const auto endings = test::fork_ranks(2, [&](Rank& self) {
    const WaitPolicy wait_policy = impatient(GetParam());
    RANK_CHECK(wait_policy.asymmetric_fence == GetParam());
    int ready = 1, all[2];
    RANK_CHECK(self.world.allgather(&ready, all, sizeof ready));
    RANK_CHECK(ping_pong(*table, self.rank, wait_policy, true));
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
  EXPECT_EQ(table->places[0].sleepers.load(), 0u);
  EXPECT_EQ(table->places[1].sleepers.load(), 0u);
  ::munmap(table, sizeof(Table));
}

TEST_P(Wakeups, AreNeverLostBetweenThreads) {
  Table table{};
  const WaitPolicy wait_policy = impatient(GetParam());
  bool other_ok = false;
  std::thread other([&] { other_ok = ping_pong(table, 1, wait_policy, false); });
  EXPECT_TRUE(ping_pong(table, 0, wait_policy, false));
  other.join();
  EXPECT_TRUE(other_ok);
}

// Many sleep on one word: one store wakes them all.
TEST_P(Wakeups, ReachAllSleepers) {
  Table* table = shared_table();
  const auto endings = test::fork_ranks(5, [&](Rank& self) {
    const WaitPolicy wait_policy = impatient(GetParam());
    Table::Place& doorbell = table->places[0];
    std::atomic<std::uint64_t>& count = table->places[1].word;
    for (std::uint64_t round = 1; round <= 300; ++round) {
      if (self.rank == 0) {
        while (count.load(std::memory_order_acquire) < 4 * (round - 1)) ::sched_yield();
        doorbell.word.store(round, std::memory_order_release);
        wake(doorbell.word, doorbell.sleepers, wait_policy);
        continue;
      }
      Sleeper sleeper;
      for (std::uint64_t seen; (seen = doorbell.word.load(std::memory_order_acquire)) < round;)
        RANK_CHECK(sleep_through(sleeper, doorbell, seen, wait_policy, 1));
      sleeper.leave();
      count.fetch_add(1, std::memory_order_release);
    }
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
  ::munmap(table, sizeof(Table));
}

// One wait goes on until the word has changed for the last time, and sleeps in between.
TEST_P(Wakeups, AreNeverLostInALongWait) {
  Table* table = shared_table();
  ASSERT_NE(table, MAP_FAILED);
  const auto endings = test::fork_ranks(2, [&](Rank& self) {
    const WaitPolicy wait_policy = impatient(GetParam());
    std::minstd_rand random(static_cast<unsigned>(self.rank) + 1);
    Table::Place &asked = table->places[0], &answer = table->places[1];
    Sleeper sleeper;
    for (std::uint64_t i = 1; i <= handoffs; ++i) {
      const unsigned delay = static_cast<unsigned>(random() % 64);
      if (self.rank == 0) {
        hand_over(*table, 0, i, wait_policy, delay);
        while (answer.word.load(std::memory_order_acquire) < i) ::sched_yield();
        continue;
      }
      for (unsigned left = delay; left > 0; --left) arch::relax();
      if (asked.word.load(std::memory_order_acquire) < i)
        RANK_CHECK(sleep_through(sleeper, asked, i - 1, wait_policy, 1 + delay % 2));
      answer.word.store(i, std::memory_order_release);
    }
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
  EXPECT_EQ(table->places[0].sleepers.load(), 0u);
  ::munmap(table, sizeof(Table));
}

// One sleeps on several words, and the other changes now this one, now that.
TEST_P(Wakeups, ThroughAnyOfSeveralWordsAreNeverLost) {
  constexpr std::uint64_t several = 4;
  Table* table = shared_table();
  ASSERT_NE(table, MAP_FAILED);
  const auto endings = test::fork_ranks(2, [&](Rank& self) {
    const WaitPolicy wait_policy = impatient(GetParam());
    std::minstd_rand random(static_cast<unsigned>(self.rank) + 1);
    const std::atomic<std::uint32_t> doorbell{0};  // silent
    Table::Place& answer = table->places[0];
    for (std::uint64_t i = 1; i <= handoffs; ++i) {
      Table::Place& changed = table->several[i % several];
      unsigned delay = static_cast<unsigned>(random() % 64);
      if (self.rank == 0) {
        while (delay-- > 0) arch::relax();
        if (i / several % 2 == 0) store_slowly(*table, i);
        changed.word.store(i, std::memory_order_release);
        wake(changed.word, changed.sleepers, wait_policy);
        while (answer.word.load(std::memory_order_acquire) < i) ::sched_yield();
        continue;
      }
      while (delay-- > 0 && changed.word.load(std::memory_order_acquire) < i) arch::relax();
      Sleeper sleeper;
      for (;;) {
        std::vector<Awaited> words;
        for (std::uint64_t w = 0; w < several; ++w)
          words.push_back(
              awaited(table->several[w], table->several[w].word.load(std::memory_order_acquire)));
        if (words[i % several].seen >= i) break;
        const auto start = Clock::now();
        sleeper.nap(words, wait_policy, never_ns, {&doorbell, 0});
        RANK_CHECK(Clock::now() - start < std::chrono::nanoseconds(never_ns));
      }
      answer.word.store(i, std::memory_order_release);
    }
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
  for (const Table::Place& place : table->several) EXPECT_EQ(place.sleepers.load(), 0u);
  ::munmap(table, sizeof(Table));
}

INSTANTIATE_TEST_SUITE_P(Fences, Wakeups, ::testing::Bool(),
                         [](const auto& row) { return row.param ? "asymmetric" : "symmetric"; });

TEST(Sleep, EndsByItsTimeout) {
  Table table{};
  const auto start = Clock::now();
  {
    Sleeper sleeper;
    const Awaited word = awaited(table.places[0], 0);
    sleeper.nap({&word, 1}, {}, 20'000'000);
    EXPECT_GE(Clock::now() - start, std::chrono::milliseconds(19));
    EXPECT_EQ(table.places[0].sleepers.load(), 1u);
  }
  EXPECT_EQ(table.places[0].sleepers.load(), 0u);
}

TEST(Sleep, DoesNotBeginWhenTheWordHasChanged) {
  Table table{};
  table.places[0].word = 5;
  const auto start = Clock::now();
  Sleeper sleeper;
  for (const std::uint64_t seen : {std::uint64_t{4}, std::uint64_t{1} << 32 | 5})
    EXPECT_TRUE(sleep_through(sleeper, table.places[0], seen, {}, 2));
  EXPECT_LT(Clock::now() - start, std::chrono::nanoseconds(never_ns));
}

// Fences are what interrupts others.
class Fences : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!wait_policy_.asymmetric_fence) GTEST_SKIP() << "no membarrier here";
    test::g_fences = 0;
  }
  // So many naps on these words.
  void nap(std::initializer_list<std::size_t> places, int naps = 1) {
    std::vector<Awaited> words;
    for (std::size_t place : places) words.push_back(awaited(table_.several[place], 0));
    for (; naps > 0; --naps) sleeper_.nap(words, wait_policy_, at_once_ns, {&doorbell_, 0});
  }
  [[nodiscard]] std::vector<std::uint32_t> counts() const {
    std::vector<std::uint32_t> all;
    for (const Table::Place& place : table_.several) all.push_back(place.sleepers.load());
    return all;
  }

  Table table_{};
  const std::atomic<std::uint32_t> doorbell_{0};
  const WaitPolicy wait_policy_ = impatient(true);
  Sleeper sleeper_;
};
using Counts = std::vector<std::uint32_t>;

TEST_F(Fences, AreOneAWait) {
  nap({0}, 50);
  EXPECT_EQ(test::g_fences, 1);
  EXPECT_EQ(counts(), (Counts{1, 0, 0, 0}));
  sleeper_.leave();
  EXPECT_EQ(counts(), (Counts{0, 0, 0, 0}));
  nap({0}, 50);
  EXPECT_EQ(test::g_fences, 2);
}

TEST_F(Fences, AreOneForAllWords) {
  nap({0, 1, 3}, 50);
  EXPECT_EQ(test::g_fences, 1);
  EXPECT_EQ(counts(), (Counts{1, 1, 0, 1}));
}

TEST_F(Fences, AreOneForEachDeskThatIsWaitedFor) {
  for (std::size_t place : {0, 1, 2, 3}) nap({place}, 10);
  EXPECT_EQ(test::g_fences, 4);
  EXPECT_EQ(counts(), (Counts{0, 0, 0, 1}));
}

TEST_F(Fences, AreNoneWithoutWords) {
  nap({}, 10);
  EXPECT_EQ(test::g_fences, 0);
  nap({2}, 10);
  nap({}, 10);  // whoever could not look what it waits for still waits
  nap({2}, 10);
  EXPECT_EQ(test::g_fences, 1);
  EXPECT_EQ(counts(), (Counts{0, 0, 1, 0}));
}

TEST_F(Fences, AreOneForMoreWordsThanCanBeSleptOn) {
  std::vector<Table::Place> places(200);
  std::vector<Awaited> words;
  for (Table::Place& place : places) words.push_back(awaited(place, 0));
  for (int i = 0; i < 10; ++i) sleeper_.nap(words, wait_policy_, at_once_ns, {&doorbell_, 0});
  EXPECT_EQ(test::g_fences, 1);
  sleeper_.leave();
  for (const Table::Place& place : places) EXPECT_EQ(place.sleepers.load(), 0u);
}

TEST_F(Fences, AreForgottenNoSoonerThanAWordHasChanged) {
  nap({0, 1});
  EXPECT_FALSE(sleeper_.changed());
  table_.several[1].word = 1;
  EXPECT_TRUE(sleeper_.changed());
  sleeper_.leave();
  EXPECT_FALSE(sleeper_.changed());
}

// More words than one may sleep on at once.
class SleepAny : public ::testing::TestWithParam<std::size_t> {
 protected:
  SleepAny() : places_(GetParam()) {
    for (Table::Place& place : places_) words_.push_back(awaited(place, 0));
  }
  ~SleepAny() override {
    for (const Table::Place& place : places_) EXPECT_EQ(place.sleepers.load(), 0u);
  }

  // How long a sleep lasts that `change` is to end, once all have been counted.
  template <class Change>
  Clock::duration until(Change change) {
    Clock::duration lasted{};
    const std::uint32_t rung = doorbell_;
    std::thread sleeper([&] {
      const auto start = Clock::now();
      Sleeper().nap(words_, {}, never_ns, {&doorbell_, rung});
      lasted = Clock::now() - start;
    });
    const Table::Place* last = slept_on() == 0 ? nullptr : &places_[slept_on() - 1];
    while (last != nullptr && last->sleepers.load() == 0) ::sched_yield();
    change();
    sleeper.join();
    return lasted;
  }
  [[nodiscard]] std::size_t slept_on() const {
    return std::min(places_.size(), os::most_futex_words - 1);
  }

  std::vector<Table::Place> places_;
  std::vector<Awaited> words_;
  std::atomic<std::uint32_t> doorbell_{0};
};

TEST_P(SleepAny, EndsWhenAnyWordChanges) {
  for (std::size_t changed = 0; changed < slept_on(); ++changed) {
    Table::Place& place = places_[changed];
    ASSERT_LT(until([&] {
                place.word = 1;
                wake(place.word, place.sleepers, {});
              }),
              std::chrono::nanoseconds(never_ns))
        << changed;
    words_[changed].seen = 1;
  }
}

TEST_P(SleepAny, EndsWhenTheBellRings) {
  for (int round = 0; round < 100; ++round)
    ASSERT_LT(until([&] {
                ++doorbell_;
                os::futex_wake_all(doorbell_);
              }),
              std::chrono::nanoseconds(never_ns));
}

TEST_P(SleepAny, DoesNotBeginWhenAnyWordHasChanged) {
  const auto start = Clock::now();
  Sleeper sleeper;
  for (std::size_t changed = 0; changed < slept_on(); ++changed)
    for (const std::uint64_t seen : {std::uint64_t{4}, std::uint64_t{1} << 32}) {
      words_[changed].seen = seen;
      sleeper.nap(words_, {}, never_ns, {&doorbell_, 0});
      words_[changed].seen = 0;
    }
  sleeper.nap(words_, {}, never_ns, {&doorbell_, 4});
  EXPECT_LT(Clock::now() - start, std::chrono::nanoseconds(never_ns));
}

bool can_sleep_on_several() {
  ::syscall(SYS_futex_waitv, nullptr, 0, 0, nullptr, 0);
  return errno != ENOSYS && errno != EPERM;
}

// For more than a second in all, so that one timeout is in the next one.
TEST_P(SleepAny, EndsByItsTimeout) {
  for (int round = 0; round < 25; ++round) {
    const auto start = Clock::now();
    Sleeper().nap(words_, {}, 50'000'000, {&doorbell_, 0});
    const auto lasted = Clock::now() - start;
    ASSERT_LT(lasted, std::chrono::nanoseconds(never_ns));
    if (!words_.empty() && !can_sleep_on_several()) continue;
    ASSERT_GE(lasted, std::chrono::milliseconds(49));
  }
}

INSTANTIATE_TEST_SUITE_P(Words, SleepAny, ::testing::Values(0, 1, 3, 127, 200));

// A core on which `others` run: a yield gives it away for so long.
std::int64_t g_now_ns = 0;
std::int64_t g_others_ns = 0;
std::int64_t now() { return g_now_ns += 30; }
void give() { g_now_ns += 300 + g_others_ns; }

// Yields in so many waits of `yields` each; returns how many there were.
int yields_in(YieldBackoff& yield_backoff, int waits, int yields) {
  int given = 0;
  for (int wait = 0; wait < waits; ++wait) {
    for (int i = 0; i < yields; ++i) {
      const std::int64_t before = g_now_ns;
      const bool soon = yield_backoff.yield(now, give);
      given += g_now_ns != before;
      if (!soon) break;
    }
  }
  return given;
}

TEST(YieldBackoff, YieldsToThoseThatWait) {
  YieldBackoff yield_backoff;
  g_others_ns = 20'000;
  EXPECT_EQ(yields_in(yield_backoff, 100, 200), 100 * 200);
  EXPECT_FALSE(yield_backoff.refuses());
}

TEST(YieldBackoff, HardlyEverYieldsToWhoComputes) {
  YieldBackoff yield_backoff;
  g_others_ns = 3'000'000;
  EXPECT_LE(yields_in(yield_backoff, 10'000, 200), 20);
  EXPECT_TRUE(yield_backoff.refuses());
}

TEST(YieldBackoff, Forgives) {
  YieldBackoff yield_backoff;
  g_others_ns = 3'000'000;
  yields_in(yield_backoff, 5000, 200);
  g_others_ns = 0;
  yields_in(yield_backoff, 2000, 200);
  g_others_ns = 3'000'000;
  EXPECT_EQ(yields_in(yield_backoff, 1, 1), 1);
  g_others_ns = 0;
  EXPECT_EQ(yields_in(yield_backoff, YieldBackoff::first + 1, 1), 1)
      << "as short as the first time";
}

TEST(Yield, IsAlwaysGrantedWhereRanksShareCores) {
  const WaitPolicy shared{.shares_core = true}, alone{};
  while (!yield_backoff().refuses()) {
    g_others_ns = 3'000'000;
    (void)yield_backoff().yield(now, give);
  }
  EXPECT_TRUE(yield(shared));
  EXPECT_TRUE(yield_backoff().refuses()) << "and is not taken for one";
  EXPECT_FALSE(yield(alone));
}

}  // namespace
}  // namespace tutti::segment
