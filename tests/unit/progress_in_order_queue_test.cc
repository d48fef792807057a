// SPDX-License-Identifier: BSD-3-Clause
// Nonblocking collectives on queues. First all ranks on one thread, where a seed decides who posts
// and who drives next, so that one seed is one order of events; then ranks that are threads, with
// progress threads of their own, for ThreadSanitizer.
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/arch.h"
#include "progress/in_order_queue.h"
#include "progress/progress.h"
#include "support/plans.h"
#include "support/scene.h"
#include "support/seeds.h"
#include "support/thread_ranks.h"

namespace tutti::test {
namespace {

using fabric::SuspendingFabric;
using progress::Driver;
using progress::InOrderQueue;
using progress::Operation;
using progress::Settings;

// `late`: reductions that only a rank itself may compute are among them.
Script draw(std::uint64_t seed, int ranks, std::size_t ops, bool late = true) {
  std::mt19937_64 random(mix(seed));
  auto algorithms = all_algorithms<SuspendingFabric>();
  if (!late) std::erase_if(algorithms, [](const Algorithm& each) { return each.late; });
  Script script{.ranks = ranks, .ops = {}};
  while (script.ops.size() < ops) {
    const Algorithm& algorithm = algorithms[random() % algorithms.size()];
    const Limits limits{.ops = 1, .usual_bytes = std::size_t{64} << 10};
    script.ops.push_back(draw_op<SuspendingFabric>(random, algorithm, ranks, limits));
  }
  return script;
}

// One rank: its driver, a queue, and its operations of the scene in order.
class Player {
 public:
  Player(Scene& scene, ThreadRanks& ranks, int rank, const Settings& settings)
      : scene_(scene),
        rank_(rank),
        queue_(ranks.peers(), ranks.transports(), settings.wait_policy, ThreadRanks::emergencies(),
               ranks.desks(), rank, usual_plans<fabric::SuspendingFabric>(scene.script().ranks)),
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
    operation.queue = &queue_;
    ++next_;
    driver_.post(operation);
  }
  // False: one has failed.
  bool collect() {
    progress::OperationList finished = driver_.finished();
    while (Operation* operation = finished.pop()) {
      if (!operation->succeeded) return false;
      scene_.leave(static_cast<std::size_t>(operation - operations_.data()), rank_,
                   operation->work);
      ++left_;
      driver_.completed();
    }
    return true;
  }

 private:
  Scene& scene_;
  int rank_;
  Driver driver_;
  InOrderQueue queue_;
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

// Rank 0 is in the MPI, where its progress thread alone goes on. It may not fold, so the others
// must not need what it has to fold: not for their results, and not to begin what comes next.
std::string compute_elsewhere(std::uint64_t seed, int ranks, Between between) {
  std::mt19937_64 random(mix(seed));
  std::vector<Algorithm> late;
  for (const Algorithm& each : all_algorithms<SuspendingFabric>())
    if (each.late) late.push_back(each);
  Script script{.ranks = ranks, .ops = {}};
  while (script.ops.size() < 4)
    script.ops.push_back(
        draw_op<SuspendingFabric>(random, late[random() % late.size()], ranks, {.ops = 1}));
  Scene scene(script);
  ThreadRanks desks(ranks, {}, between);
  std::vector<std::vector<Operation>> operations;
  std::vector<std::unique_ptr<InOrderQueue>> queues;
  for (int rank = 0; rank < ranks; ++rank) {
    queues.push_back(std::make_unique<InOrderQueue>(
        desks.peers(), desks.transports(), segment::WaitPolicy{}, ThreadRanks::emergencies(),
        desks.desks(), rank, usual_plans<fabric::SuspendingFabric>(ranks)));
    for (std::size_t i = 0; i < script.ops.size(); ++i) {
      Operation operation;
      operation.collective = script.ops[i].algorithm.collective;
      operation.work = scene.enter(i, rank);
      operation.call = std::uint64_t{1} << 63 | i;
      operation.bytes = operation.work.bytes();
      if (i == 0) operations.emplace_back();
      operations.back().push_back(operation);
    }
    for (Operation& each : operations.back()) queues.back()->add(each);
  }
  for (int turns = 0; turns < 100'000; ++turns) {
    const auto rank = static_cast<int>(random() % static_cast<unsigned>(ranks));
    InOrderQueue& queue = *queues[static_cast<std::size_t>(rank)];
    t_is_rank = rank != 0;
    progress::OperationList finished;
    queue.advance(rank == 0 ? fabric::Executor::progress : fabric::Executor::rank, false, finished);
    t_is_rank = true;
    while (Operation* each = finished.pop()) {
      if (!each->succeeded) return "an operation has failed";
      auto& mine = operations[static_cast<std::size_t>(rank)];
      scene.leave(static_cast<std::size_t>(each - mine.data()), rank, each->work);
    }
    if (std::all_of(queues.begin(), queues.end(), [](auto& each) { return each->idle(); }))
      return scene.verdict();
  }
  return "the others wait for what only rank 0 itself can do";
}

TEST_P(LanesOf, LateReductionsNeedNobodyWhoIsElsewhere) {
  const Seeds range = seeds(150);
  for (const int ranks : {2, 3, 5})
    for (std::uint64_t seed = range.first; seed <= range.last; ++seed)
      ASSERT_EQ(compute_elsewhere(seed, ranks, GetParam()), "")
          << ranks << " ranks; TUTTI_TEST_SEED=" << seed;
}

struct Waiting {
  const char* name;
  Settings settings;
};
const Waiting waitings[] = {
    {"alone", {.thread = false, .wait_policy = {.polls = 100, .yields = 10}}},
    {"sleeping", {.wait_policy = {.polls = 0, .yields = 0}}},
    {"usual", {.wait_policy = {.polls = 200, .yields = 50}}},
    {"dedicated",
     {.dedicated = true, .wait_policy = {.polls = 0, .yields = 20, .shares_core = true}}},
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
          // Now and then all the rest is left to the thread. Who waits does what that may not.
          const bool alone = GetParam().settings.thread && rank != 0 && random() % 2 == 0;
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
  Scene scene(Script{.ranks = 2, .ops = draw(1, 2, 6, false).ops});
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
  Scene scene(Script{.ranks = 2, .ops = draw(2, 2, 6, false).ops});
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

// A rank of two on its own, with one operation.
struct Member {
  Member(ThreadRanks& ranks, int rank, const Settings& settings = {.thread = false})
      : queue(ranks.peers(), ranks.transports(), settings.wait_policy, ThreadRanks::emergencies(),
              ranks.desks(), rank,
              usual_plans<fabric::SuspendingFabric>(static_cast<int>(ranks.desks().size()))) {
    driver.configure(settings);
    operation.queue = &queue;
    operation.work.timed = true;
  }
  void post_allreduce() {
    operation.collective = coll::Collective::allreduce;
    operation.work.send = sent.data();
    operation.work.recv = received.data();
    operation.work.count = sent.size();
    operation.work.element_bytes = sizeof(float);
    operation.work.kernel = reduce::find(reduce::Op::sum, reduce::Type::f32);
    operation.bytes = operation.work.bytes();
    driver.post(operation);
  }
  void post_alltoall() {
    for (const std::size_t q : {0, 1}) {
      const std::size_t half = sent.size() / 2, at = q * half;
      out[q] = {reinterpret_cast<std::byte*>(&sent[at]), half * sizeof(float)};
      in[q] = {reinterpret_cast<std::byte*>(&received[at]), half * sizeof(float)};
    }
    operation.collective = coll::Collective::alltoall;
    operation.work.out = out;
    operation.work.in = in;
    operation.bytes = sent.size() * sizeof(float);
    driver.post(operation);
  }

  std::vector<float> sent = std::vector<float>(std::size_t{64} << 10, 1);
  std::vector<float> received = std::vector<float>(std::size_t{64} << 10);
  std::array<coll::Block, 2> out, in;
  Driver driver;
  InOrderQueue queue;
  Operation operation;
};

// Until both have taken what they posted; the second drives.
void finish(Member& first, Member& second) {
  for (int left = 2; left > 0; std::this_thread::yield()) {
    second.driver.drive();
    for (Member* member : {&first, &second}) {
      if (member->driver.finished().empty()) continue;
      member->driver.completed();
      --left;
    }
  }
}

// What an algorithm takes for its work is told even if it had to wait in its midst, and without the
// wait.
TEST(InOrderQueue, TellsTimeOfWorkWithoutWaits) {
  ThreadRanks ranks(2);
  Member first(ranks, 0), second(ranks, 1);
  first.post_alltoall();
  second.post_alltoall();
  second.driver.drive();
  // It has taken its blocks, and now waits until the other one has taken his.
  const std::uint64_t waits = arch::ticks();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const std::uint64_t waited = arch::ticks() - waits;
  first.driver.drive();
  second.driver.drive();
  for (const Member* member : {&first, &second}) {
    ASSERT_TRUE(member->driver.has_finished() && member->operation.succeeded);
    EXPECT_GT(member->operation.work_ticks, 0u);
    EXPECT_LT(member->operation.work_ticks, waited);
    EXPECT_EQ(member->operation.worked_bytes, member->operation.bytes);
  }
}

// Where members take chunks, a member's time is that of the chunks that it got.
TEST(InOrderQueue, TellsBytesOfItsShareOfTheWork) {
  ThreadRanks ranks(2);
  Member first(ranks, 0), second(ranks, 1);
  first.post_allreduce();
  second.post_allreduce();
  second.driver.drive();  // does it all
  first.driver.drive();
  ASSERT_TRUE(first.driver.has_finished() && second.driver.has_finished());
  EXPECT_EQ(first.operation.worked_bytes, 0u);
  EXPECT_GE(second.operation.worked_bytes, second.operation.bytes);
}

// Whoever wakes a thread that shares a core pays for it: not again before its next nap is over.
TEST(Driver, WhoWokeItsThreadInVainIsSpared) {
  ThreadRanks ranks(2);
  Member first(ranks, 0, Settings{});
  first.post_alltoall();
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const auto passed_ms = [&] { return (Clock::now() - begin) / std::chrono::milliseconds(1); };
  long woken = 0;
  while (passed_ms() < 50)
    for (segment::Line& line : ranks.desks()[1]->lines)
      woken += ::syscall(SYS_futex, &line.step, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  EXPECT_GT(woken, 0);
  EXPECT_LE(woken, passed_ms() + 1);
  Member second(ranks, 1);
  second.post_alltoall();
  finish(first, second);
}

// A rank that has posted much lets others have its core before it drives, if a thread on another
// one does meanwhile; until what it has posted is over.
TEST(Driver, LetsOthersComputeWhereItsThreadDrives) {
  const Settings shared{.dedicated = true,
                        .wait_policy = {.polls = 0, .yields = 20, .shares_core = true}};
  Settings alone = shared;
  alone.thread = false;
  ThreadRanks ranks(2);
  Member first(ranks, 0, shared), second(ranks, 1, alone);
  first.post_allreduce();
  second.post_allreduce();
  EXPECT_TRUE(first.driver.steps_aside());
  EXPECT_FALSE(second.driver.steps_aside());
  finish(first, second);
  EXPECT_FALSE(first.driver.steps_aside());
}

// Messages that are over at once, and who sent them.
class Noted : public fabric::Messages {
 public:
  bool send(int, const void*, std::size_t, fabric::Whole) override {
    sender = std::this_thread::get_id();
    return true;
  }
  bool receive(int, void*, std::size_t, fabric::Whole) override { return true; }
  State test_oldest() override { return State::done; }
  void abandon() override {}
  void call_off() override {}
  bool is_called_off() override { return false; }

  std::atomic<std::thread::id> sender;
};

// Two ranks, a node each: the first posts a Bcast, of which it is the root.
std::thread::id sender_of_bcast(const Settings& settings, bool any_thread) {
  ThreadRanks near(1);
  const fabric::NodeMap map(std::vector<std::int32_t>{0, 1}, 0);
  const auto messages = std::make_shared<Noted>();
  const progress::OtherNodes others{map, messages, any_thread};
  InOrderQueue queue(near.peers(), near.transports(), {}, ThreadRanks::emergencies(), near.desks(),
                     0, usual_plans<fabric::SuspendingFabric>(1), {}, &others);
  double value = 1;
  Operation operation;
  operation.queue = &queue;
  operation.collective = coll::Collective::bcast;
  operation.work.recv = &value;
  operation.work.count = 1;
  operation.work.element_bytes = sizeof value;
  operation.bytes = sizeof value;
  Driver driver;
  driver.configure(settings);
  driver.post(operation);
  while (driver.finished().empty()) std::this_thread::yield();
  driver.completed();
  return messages->sender;
}

// A rank that posts begins messages by itself, unless its thread has a core of its own and may.
TEST(Driver, WhoBeginsMessages) {
  const std::thread::id here = std::this_thread::get_id();
  EXPECT_EQ(sender_of_bcast({}, true), here);
  EXPECT_EQ(sender_of_bcast({.dedicated = true}, false), here);
  const std::thread::id other = sender_of_bcast({.dedicated = true}, true);
  EXPECT_NE(other, here);
  EXPECT_NE(other, std::thread::id());
  EXPECT_EQ(sender_of_bcast({.thread = false, .dedicated = true}, true), here);
}

// Another thread has taken what one waits for, and completes it when that one has looked: it does
// not sleep then, though something else is under way.
TEST(Driver, WhoWaitsHearsOfWhatAnotherThreadCompletes) {
  const Settings sleepy{.thread = false, .wait_policy = {.polls = 0, .yields = 0}};
  using Clock = std::chrono::steady_clock;
  auto shortest = Clock::duration::max();
  for (int i = 0; i < 20; ++i) {
    ThreadRanks ranks(2);
    Member first(ranks, 0, sleepy);
    first.post_allreduce();  // and the other rank never comes
    Driver::Wait wait(first.driver);
    for (int naps = 0; naps < 10; ++naps) wait.step(true);  // ever longer ones
    first.driver.completed();
    const auto begin = Clock::now();
    wait.step(true);
    shortest = std::min(shortest, Clock::now() - begin);
  }
  EXPECT_LT(shortest, std::chrono::microseconds(500));
}

// What the thread does is recorded beside what the rank does.
TEST(Driver, RecordsWhatItsThreadDoes) {
  trace::start();
  Scene scene(Script{.ranks = 2, .ops = draw(3, 2, 40, false).ops});
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
