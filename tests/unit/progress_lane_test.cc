// SPDX-License-Identifier: BSD-3-Clause
// Nonblocking collectives on lanes. First all ranks on one thread, where a seed decides who posts
// and who drives next, so that one seed is one order of events; then ranks that are threads, with
// progress threads of their own, for ThreadSanitizer.
#include <gtest/gtest.h>

#include "progress/progress.h"
#include "support/scene.h"
#include "support/seeds.h"
#include "support/thread_ranks.h"

namespace tutti::test {
namespace {

using fabric::LaneFabric;
using progress::Driver;
using progress::Lane;
using progress::Operation;
using progress::Settings;

Script draw(std::uint64_t seed, int ranks, std::size_t ops) {
  std::mt19937_64 random(mix(seed));
  const auto algorithms = all_algorithms<LaneFabric>();
  Script script{.ranks = ranks, .ops = {}};
  while (script.ops.size() < ops) {
    const Algorithm& algorithm = algorithms[random() % algorithms.size()];
    const Limits limits{.ops = 1, .usual_bytes = std::size_t{64} << 10};
    script.ops.push_back(draw_script<LaneFabric>(random, algorithm, ranks, limits).ops.at(0));
  }
  return script;
}

// One rank: its driver, a lane, and its operations of the scene in order.
class Player {
 public:
  Player(Scene& scene, ThreadRanks& ranks, int rank, const Settings& settings)
      : scene_(scene),
        rank_(rank),
        lane_(ranks.peers(), ranks.ways(), settings.patience, ThreadRanks::emergencies(),
              ranks.desks(), rank),
        operations_(scene.script().ops.size()) {
    driver_.configure(settings);
  }

  [[nodiscard]] bool posted_all() const { return next_ == operations_.size(); }
  [[nodiscard]] bool done() const { return left_ == operations_.size(); }
  [[nodiscard]] Driver& driver() { return driver_; }

  void post() {
    Operation& operation = operations_[next_];
    operation.collective = scene_.script().ops[next_].algorithm.collective;
    operation.work = scene_.enter(next_, rank_);
    operation.call = std::uint64_t{1} << 63 | next_;
    operation.bytes = operation.work.bytes();
    operation.lane = &lane_;
    ++next_;
    driver_.post(operation);
  }
  // False: one has failed.
  bool collect() {
    progress::Queue finished = driver_.finished();
    while (Operation* operation = finished.pop()) {
      if (!operation->succeeded) return false;
      scene_.leave(static_cast<std::size_t>(operation - operations_.data()), rank_,
                   operation->work);
      ++left_;
    }
    return true;
  }

 private:
  Scene& scene_;
  int rank_;
  Driver driver_;
  Lane lane_;
  std::vector<Operation> operations_;
  std::size_t next_ = 0, left_ = 0;
};

class LanesOf : public ::testing::TestWithParam<Between> {};

std::string interleave(std::uint64_t seed, int ranks, Between between) {
  Scene scene(draw(seed, ranks, 8));
  ThreadRanks desks(ranks, {}, between);
  std::vector<std::unique_ptr<Player>> players;
  for (int rank = 0; rank < ranks; ++rank)
    players.push_back(std::make_unique<Player>(scene, desks, rank, Settings{.thread = false}));
  std::mt19937_64 random(mix(seed + 1));
  // Some orders let a rank run far ahead of the others.
  const std::uint64_t calm = 1 + random() % 20;
  std::size_t who = 0;
  for (int turns = 0; turns < 200'000; ++turns) {
    if (random() % calm == 0) who = random() % players.size();
    Player& player = *players[who];
    if (!player.posted_all() && random() % 3 == 0) player.post();
    player.driver().drive();
    if (!player.collect()) return "an operation has failed";
    if (std::all_of(players.begin(), players.end(), [](auto& each) { return each->done(); }))
      return scene.verdict();
  }
  return "some operations never end";
}

TEST_P(LanesOf, GiveTheSequentialResultInAnyOrder) {
  const Seeds range = seeds(150);
  for (const int ranks : {2, 3, 5})
    for (std::uint64_t seed = range.first; seed <= range.last; ++seed)
      ASSERT_EQ(interleave(seed, ranks, GetParam()), "")
          << ranks << " ranks; TUTTI_TEST_SEED=" << seed;
}

INSTANTIATE_TEST_SUITE_P(Ways, LanesOf,
                         ::testing::Values(Between::threads, Between::copied, Between::staged),
                         [](const auto& row) {
                           return row.param == Between::threads  ? "mapped"
                                  : row.param == Between::copied ? "copied"
                                                                 : "staged";
                         });

struct Waiting {
  const char* name;
  Settings settings;
};
const Waiting waitings[] = {
    {"alone", {.thread = false, .patience = {.polls = 100, .yields = 10}}},
    {"sleeping", {.patience = {.polls = 0, .yields = 0}}},
    {"usual", {.patience = {.polls = 200, .yields = 50}}},
    {"dedicated", {.dedicated = true, .patience = {.polls = 0, .yields = 20}}},
};

class DriversWith : public ::testing::TestWithParam<Waiting> {};

TEST_P(DriversWith, GiveTheSequentialResult) {
  const Seeds range = seeds(8);
  for (const int ranks : {2, 4}) {
    for (std::uint64_t seed = range.first; seed <= range.last; ++seed) {
      Scene scene(draw(seed, ranks, 30));
      ThreadRanks desks(ranks, {}, Between::threads);
      std::vector<std::thread> threads;
      for (int rank = 0; rank < ranks; ++rank)
        threads.emplace_back([&, rank] {
          Player player(scene, desks, rank, GetParam().settings);
          std::mt19937_64 random(mix(seed + static_cast<unsigned>(rank)));
          while (!player.posted_all()) {
            player.post();
            if (random() % 4 == 0) player.driver().drive();
            if (random() % 8 == 0) std::this_thread::yield();
            ASSERT_TRUE(player.collect());
          }
          // Now and then all the rest is left to the thread.
          const bool alone = GetParam().settings.thread && random() % 2 == 0;
          if (alone) {
            while (!player.done()) {
              ASSERT_TRUE(player.collect());
              std::this_thread::yield();
            }
          } else {
            Driver::Wait wait(player.driver());
            while (!player.done()) {
              wait.step(true);
              ASSERT_TRUE(player.collect());
            }
          }
        });
      for (std::thread& thread : threads) thread.join();
      ASSERT_EQ(scene.verdict(), "") << ranks << " ranks; TUTTI_TEST_SEED=" << seed;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Waiting, DriversWith, ::testing::ValuesIn(waitings),
                         [](const auto& row) { return row.param.name; });

TEST(Driver, ThatIsNotUsedStartsNoThread) {
  const auto threads = [] {
    int count = 0;
    std::FILE* file = std::fopen("/proc/self/status", "re");
    char line[256];
    while (std::fgets(line, sizeof line, file) != nullptr)
      if (std::sscanf(line, "Threads: %d", &count) == 1) break;
    std::fclose(file);
    return count;
  };
  const int before = threads();
  Driver driver;
  driver.configure({});
  driver.drive();
  EXPECT_EQ(driver.outstanding(), 0u);
  EXPECT_EQ(threads(), before);
}

// Switched off, the thread leaves everything to the rank; switched on, it goes on.
TEST(Driver, CanBeSwitchedOffAndOn) {
  Scene scene(Script{.ranks = 2, .ops = draw(1, 2, 6).ops});
  ThreadRanks desks(2);
  Player first(scene, desks, 0, Settings{}), second(scene, desks, 1, Settings{});
  first.driver().allow_thread(false);
  second.driver().allow_thread(false);
  while (!first.posted_all()) {
    first.post();
    second.post();
  }
  first.driver().allow_thread(true);
  second.driver().allow_thread(true);
  while (!first.done() || !second.done()) {
    ASSERT_TRUE(first.collect() && second.collect());
    std::this_thread::yield();
  }
  EXPECT_EQ(scene.verdict(), "");
}

// A thread that was stopped goes on when it is asked to, and a new one starts with the next post.
TEST(Driver, BeginsAnewAfterItsThreadWasStopped) {
  Scene scene(Script{.ranks = 2, .ops = draw(2, 2, 6).ops});
  ThreadRanks desks(2);
  Player first(scene, desks, 0, Settings{}), second(scene, desks, 1, Settings{});
  while (!first.posted_all()) {
    for (Player* player : {&first, &second}) {
      player->post();
      player->driver().stop();
    }
  }
  first.driver().resume();
  second.driver().resume();
  while (!first.done() || !second.done()) {
    ASSERT_TRUE(first.collect() && second.collect());
    std::this_thread::yield();
  }
  EXPECT_EQ(scene.verdict(), "");
}

// What the thread does is recorded beside what the rank does.
TEST(Driver, RecordsWhatItsThreadDoes) {
  trace::start();
  Scene scene(Script{.ranks = 2, .ops = draw(3, 2, 40).ops});
  ThreadRanks desks(2);
  {
    Player first(scene, desks, 0, Settings{}), second(scene, desks, 1, Settings{});
    while (!first.done() || !second.done()) {
      const trace::Span span(true, trace::Kind::waiting, trace::wait, 0);
      if (!first.posted_all()) first.post();
      if (!second.posted_all()) second.post();
      ASSERT_TRUE(first.collect() && second.collect());
      std::this_thread::yield();
    }
  }  // their threads have ended
  const trace::Record record = trace::stop();
  EXPECT_EQ(scene.verdict(), "");
  int progress = 0, waiting = 0;
  for (const trace::Entry& span : record.spans) {
    EXPECT_LE(span.begin, span.end);
    progress += span.kind == trace::Kind::progress ? 1 : 0;
    waiting += span.kind == trace::Kind::waiting ? 1 : 0;
    EXPECT_EQ(span.kind == trace::Kind::progress,
              trace::is_collective(span.what) && span.what >= coll::collective_count);
  }
  EXPECT_GT(progress, 0);
  EXPECT_GT(waiting, 0);
}

}  // namespace
}  // namespace tutti::test
