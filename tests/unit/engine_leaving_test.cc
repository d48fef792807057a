// SPDX-License-Identifier: BSD-3-Clause
// After an error that kills nobody all members leave a team to the MPI, from the same call on.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <deque>
#include <map>
#include <random>

#include "engine/leaving.h"
#include "support/teams.h"
#include "support/thread_ranks.h"

namespace tutti::engine {
namespace {

using coll::Collective;
using test::join;
using test::Rank;
using test::team_of;

constexpr std::size_t most_bytes = std::size_t{192} << 10;
constexpr int most_ranks = 9;

// A call as all members should make it, and as one of them does.
struct Plan {
  Collective collective;
  std::size_t count;  // of floats
  int root;
  bool in_place;
};

Plan draw(std::mt19937_64& random, int ranks) {
  constexpr Collective kinds[] = {
      Collective::barrier,    Collective::bcast,   Collective::reduce,    Collective::allreduce,
      Collective::gather,     Collective::scatter, Collective::allgather, Collective::alltoall,
      Collective::allgatherv, Collective::scan,    Collective::gatherv};
  constexpr std::size_t counts[] = {1, 20, 700, 5'000, 40'000};
  return {kinds[random() % std::size(kinds)], counts[random() % std::size(counts)],
          static_cast<int>(random() % static_cast<unsigned>(ranks)), random() % 3 == 0};
}

// How one member's call differs: in what it is, or in its size.
Plan deviating(Plan plan, std::mt19937_64& random) {
  const bool sized = plan.collective != Collective::barrier &&
                     plan.collective != Collective::gatherv &&
                     plan.collective != Collective::allgatherv;
  if (sized && random() % 2 == 0) {
    plan.count = plan.count == 1 ? 2 : plan.count / 2;
    return plan;
  }
  plan.collective =
      plan.collective == Collective::barrier ? Collective::allreduce : Collective::barrier;
  return plan;
}

// Buffers of one member; what is sent and what is received of each.
struct Buffers {
  std::vector<std::byte> out = std::vector<std::byte>(most_ranks * most_bytes);
  std::vector<std::byte> in = std::vector<std::byte>(most_ranks * most_bytes);
};

// What a member says in a call.
struct Said {
  std::vector<coll::Block> out, in;
  coll::Work work;
};

void say(const Team& team, const Plan& plan, Buffers& buffers, Said& said) {
  auto& [out, in, work] = said;
  const auto ranks = static_cast<std::size_t>(team.size());
  const auto me = static_cast<std::size_t>(team.rank());
  const std::size_t bytes = 4 * plan.count;
  const bool is_root = team.rank() == plan.root;
  const auto all = [&](std::vector<std::byte>& from) {
    std::vector<coll::Block> blocks;
    for (std::size_t i = 0; i < ranks; ++i) blocks.push_back({from.data() + i * bytes, bytes});
    return blocks;
  };
  const coll::Block mine{buffers.out.data(), bytes}, its{buffers.in.data(), bytes};
  work = {.count = bytes, .root = plan.root};
  switch (plan.collective) {
    case Collective::barrier:
      work = {};
      break;
    case Collective::gather:
    case Collective::gatherv:
      out = {mine};
      if (is_root) in = all(buffers.in);
      if (plan.collective == Collective::gatherv) work.count = 0;
      break;
    case Collective::scatter:
      in = {its};
      if (is_root) out = all(buffers.out);
      break;
    case Collective::allgather:
    case Collective::allgatherv:
      in = all(buffers.in);
      out = plan.in_place ? std::vector{in[me]} : std::vector{mine};
      work.root = 0;
      if (plan.collective == Collective::allgatherv) work.count = ranks * bytes;
      break;
    case Collective::alltoall:
      in = all(buffers.in);
      out = all(plan.in_place ? buffers.in : buffers.out);
      work.root = 0;
      work.in_place = plan.in_place;
      break;
    default:
      work = {.send = plan.in_place ? buffers.in.data() : buffers.out.data(),
              .recv = buffers.in.data(),
              .count = plan.count,
              .element_bytes = 4,
              .kernel = reduce::find(reduce::Op::sum, reduce::Type::f32),
              .root = plan.root,
              .op = 1};
      if (plan.collective != Collective::reduce && plan.collective != Collective::bcast)
        work.root = 0;
      if (plan.collective == Collective::bcast)
        work = {.recv = buffers.in.data(), .count = bytes, .root = plan.root};
  }
  work.out = out;
  work.in = in;
}

ErrorCode make(Team& team, const Plan& plan, Buffers& buffers) {
  Said said;
  say(team, plan, buffers, said);
  return team.run(plan.collective, said.work);
}

// The same of nonblocking calls, some of which are waited for at once.
class Starter {
 public:
  Starter(Team& team, std::size_t calls) : team_(team), outcomes_(calls, '?') {}

  void start(const Plan& plan, Buffers& buffers) {
    Started& next = started_.emplace_back();
    say(team_, plan, buffers, next.said);
    next.collective = plan.collective;
    next.work = next.said.work;
    next.index = started_.size() - 1;
    const ErrorCode error_code = team_.may_start(next.collective, next.work);
    if (error_code != ErrorCode::none) {
      outcomes_[next.index] = error_code == ErrorCode::left ? 'm' : '!';
      return;
    }
    team_.start(next);
    team_.end_start();
    ++outstanding_;
  }
  void drive() {
    driver().drive();
    progress::OperationList finished = driver().finished();
    while (progress::Operation* operation = finished.pop()) {
      auto& pending = static_cast<Started&>(*operation);
      outcomes_[pending.index] = team_.finish(pending) == ErrorCode::none ? '.' : '!';
      --outstanding_;
    }
  }
  void wait() {
    while (outstanding_ > 0) drive();
  }
  [[nodiscard]] const std::string& outcomes() const { return outcomes_; }

 private:
  struct Started : Pending {
    Said said;
    std::size_t index = 0;
  };

  Team& team_;
  std::deque<Started> started_;
  int outstanding_ = 0;
  std::string outcomes_;
};

// The program's again, after an error: nobody is to write there.
constexpr std::byte taken{0xa5};
void take_back(Buffers& buffers) { std::fill(buffers.in.begin(), buffers.in.end(), taken); }
bool are_untouched(const Buffers& buffers) {
  return std::all_of(buffers.in.begin(), buffers.in.end(), [](std::byte b) { return b == taken; });
}

// Says what became of each call: '.' it was done, '!' it failed, 'm' it is the MPI's.
std::string outcomes(Team& team, std::uint64_t seed, std::size_t failing, int who,
                     std::size_t calls, bool starts, Buffers& buffers) {
  std::mt19937_64 random(seed), own(seed + 1000 * static_cast<unsigned>(team.rank() + 1));
  Starter starter(team, calls);
  std::string all;
  for (std::size_t call = 0; call < calls; ++call) {
    const Plan plan = draw(random, team.size()), other = deviating(plan, random);
    if (own() % 4 == 0) ::usleep(static_cast<useconds_t>(own() % 300));
    const bool deviates = call == failing && team.rank() == who;
    if (starts) {
      starter.start(deviates ? other : plan, buffers);
      own() % 3 == 0 ? starter.wait() : starter.drive();
      continue;
    }
    const ErrorCode error_code = make(team, deviates ? other : plan, buffers);
    const bool first_failed = all.find('!') == std::string::npos && error_code != ErrorCode::none;
    if (first_failed) take_back(buffers);
    all += error_code == ErrorCode::none ? '.' : error_code == ErrorCode::left ? 'm' : '!';
  }
  starter.wait();
  if (starts) take_back(buffers);
  return starts ? starter.outcomes() : all;
}

class Leaves : public ::testing::TestWithParam<std::tuple<int, const char*, bool>> {};

// One member calls something else once: whoever notices, and however far ahead the others are, all
// leave at the same call, nothing before it goes wrong, and once a blocking call has failed none is
// done.
TEST_P(Leaves, AtTheSameCall) {
  const auto [ranks, option, starts] = GetParam();
  const auto endings = test::fork_ranks(ranks, [&, option = option, starts = starts](Rank& self) {
    const auto home = join(self, option);
    Buffers buffers;
    constexpr std::size_t failing = 6, calls = 60;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      const auto team = team_of(self.world, home);
      const int who = static_cast<int>(seed % static_cast<unsigned>(self.size));
      const std::string mine = outcomes(*team, seed, failing, who, calls, starts, buffers);
      std::uint64_t first = mine.find('m'), firsts[most_ranks];
      RANK_CHECK(self.world.allgather(&first, firsts, sizeof first));
      RANK_CHECK(are_untouched(buffers));
      const bool agreed = std::count(firsts, firsts + self.size, first) == self.size;
      const std::size_t failed = std::min(mine.find('!'), first);
      const bool ordered = failed >= failing && first > failing && first < calls &&
                           (starts || mine.find('.', failed) == std::string::npos) &&
                           mine.find_first_not_of('m', first) == std::string::npos;
      if (!agreed || !ordered)
        std::fprintf(stderr, "seed %d, rank %d: %s\n", static_cast<int>(seed), self.rank,
                     mine.c_str());
      RANK_CHECK(agreed && ordered);
    }
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
}

std::string name_of(const ::testing::TestParamInfo<Leaves::ParamType>& row) {
  const auto& [ranks, option, starts] = row.param;
  const bool bounce = std::strcmp(option, "bounce") == 0;
  return std::to_string(ranks) + (bounce ? "_bounce" : "_direct") + (starts ? "_started" : "");
}
INSTANTIATE_TEST_SUITE_P(Ranks, Leaves,
                         ::testing::Combine(::testing::Values(2, 3, 4, most_ranks),
                                            ::testing::Values("commons,cma,bounce", "bounce"),
                                            ::testing::Bool()),
                         name_of);

// A truncation in a Gather that senders do not wait for fails on the receiver; what follows is the
// MPI's, on all, although the senders are waiting in it already.
TEST(Leaving, NoLaterCallFailsWhereAllWaitInTheNext) {
  const auto endings = test::fork_ranks(3, [](Rank& self) {
    const auto team = team_of(self.world, join(self, "cma,bounce"));
    std::vector<std::byte> memory(400);
    const std::size_t bytes = self.rank == 0 ? 4 : 40;
    const std::vector<coll::Block> out(1, {memory.data(), bytes});
    std::vector<coll::Block> in;
    if (self.rank == 0) in.assign(3, {memory.data() + 200, bytes});
    if (self.rank == 0) ::usleep(50'000);
    const ErrorCode first = team->run(Collective::gather, {.count = bytes, .out = out, .in = in});
    RANK_CHECK(self.rank == 0 ? first == ErrorCode::truncated : first == ErrorCode::none);
    for (int i = 0; i < 3; ++i) RANK_CHECK(team->run(Collective::barrier, {}) == ErrorCode::left);
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
}

// Who has only been told of an error in a call can make it again, unless its operands are gone: a
// rank 2 that reduces in place makes the others fail as well, so that all go on alike.
TEST(Leaving, WhatCannotBeMadeAgainFailsOnAll) {
  for (const bool in_place : {false, true}) {
    const auto endings = test::fork_ranks(3, [in_place](Rank& self) {
      const auto team = team_of(self.world, join(self, "bounce"));
      Buffers buffers;
      const Plan plan{Collective::allreduce, 700, 0, in_place && self.rank == 2};
      const Plan other{Collective::barrier, 0, 0, false};
      const ErrorCode error_code = make(*team, self.rank == 0 ? other : plan, buffers);
      RANK_CHECK(error_code == ErrorCode::mismatched || error_code == ErrorCode::peer_error);
      RANK_CHECK(team->run(Collective::barrier, {}) == ErrorCode::left);
    });
    EXPECT_TRUE(endings.all(0)) << endings.output;
  }
}

// With a rank that is lost there is nothing to leave to: all later calls fail.
TEST(Leaving, NotWithoutTheDead) {
  const auto endings = test::fork_ranks(3, [](Rank& self) {
    const auto team = team_of(self.world, join(self, "cma,bounce"));
    RANK_CHECK(team->run(Collective::barrier, {}) == ErrorCode::none);
    if (self.rank == 1) std::_Exit(0);
    const ErrorCode error_code = team->run(Collective::barrier, {});
    RANK_CHECK(error_code == ErrorCode::lost || error_code == ErrorCode::peer_error);
    for (int i = 0; i < 3; ++i)
      RANK_CHECK(team->run(Collective::barrier, {}) == ErrorCode::refused);
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
}

// Members that are threads, without what is said of errors.
struct Member {
  Member(test::ThreadRanks& ranks, int rank, const segment::WaitPolicy& wait_policy)
      : provider(ranks.peers(), ranks.transports(), wait_policy, quiet()),
        fabric(provider, ranks.desks(), rank),
        leaving(false, ranks.desks(), rank, provider, wait_policy) {}
  static fabric::Emergencies quiet() {
    auto emergencies = test::ThreadRanks::emergencies();
    emergencies.peer_error = [](void*, int) {};
    return emergencies;
  }

  // As Team::run() does; `meets`: an error.
  char call(Collective collective, bool meets) {
    if (!leaving.begin() && !leaving.may_go_on()) return leaving.refuse() ? 'm' : '!';
    if (meets) {
      (void)provider.fail();
      leaving.stop(false);
      return '!';
    }
    fabric.begin(static_cast<std::uint64_t>(collective) + 1);
    coll::Work work{.send = &mine, .recv = &sum, .count = 1, .element_bytes = 4, .kernel = kernel};
    for (const auto& row : coll::rows_of<fabric::NodeFabric>(collective)) {
      if (!row.fits({fabric.size(), 4})) continue;
      const fabric::Task task = row.run(fabric, work);
      if (!task.done()) return leaving.peer_error(collective != Collective::allreduce) ? 'm' : '!';
      break;
    }
    leaving.end();
    return '.';
  }

  fabric::NodeProvider provider;
  fabric::NodeFabric fabric;
  Leaving leaving;
  const reduce::Kernel* kernel = reduce::find(reduce::Op::sum, reduce::Type::f32);
  float mine = 1, sum = 0;
};

// One member, or two of them, meet an error at some time; with either fence.
TEST(Leaving, ThreadsLeaveAtTheSameCall) {
  constexpr Collective kinds[] = {Collective::bcast, Collective::reduce, Collective::allreduce,
                                  Collective::barrier};
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    std::mt19937_64 random(seed);
    const int size = 2 + static_cast<int>(random() % 3);
    segment::WaitPolicy wait_policy{20, 20, seed % 2 == 0 && os::enable_asymmetric_fence()};
    test::ThreadRanks ranks(size, wait_policy);
    const std::size_t calls = 80;
    std::map<int, std::size_t> errors;  // who, and in which call
    errors[static_cast<int>(random() % 4) % size] = random() % 20;
    errors[static_cast<int>(random() % 4) % size] = random() % 20;
    std::vector<std::string> all(static_cast<std::size_t>(size));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; ++rank)
      threads.emplace_back([&, rank] {
        Member member(ranks, rank, wait_policy);
        std::mt19937_64 same(seed), own(seed + 1000 * static_cast<unsigned>(rank));
        std::string& mine = all[static_cast<std::size_t>(rank)];
        for (std::size_t call = 0; call < calls; ++call) {
          if (own() % 8 == 0) std::this_thread::yield();
          const auto error = errors.find(rank);
          mine += member.call(kinds[same() % std::size(kinds)],
                              error != errors.end() && error->second == call);
        }
      });
    for (std::thread& thread : threads) thread.join();
    for (const std::string& mine : all) {
      EXPECT_EQ(mine.find('m'), all[0].find('m')) << "seed " << seed << ": " << mine;
      EXPECT_NE(mine.find('m'), std::string::npos) << "seed " << seed << ": " << mine;
      const std::size_t failed = mine.find_first_not_of('.');
      EXPECT_EQ(mine.find('.', failed), std::string::npos) << "seed " << seed << ": " << mine;
    }
  }
}

}  // namespace
}  // namespace tutti::engine
