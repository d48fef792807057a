// SPDX-License-Identifier: BSD-3-Clause
// When a leader that waits for messages gives its core away.
#include <gtest/gtest.h>

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "support/across.h"

namespace {
std::atomic<int> g_yields{0};
}
// In place of the C library's.
extern "C" int sched_yield() noexcept {
  ++g_yields;
  return static_cast<int>(::syscall(SYS_sched_yield));
}

namespace tutti::test {
namespace {

using engine::ErrorCode;

// Each message is there after so many looks. It counts the yields between them.
class SlowMessages : public PipeMessages {
 public:
  SlowMessages(Wires& wires, int ranks, int rank, int looks)
      : PipeMessages(wires, ranks, rank, true), looks_(looks) {}
  [[nodiscard]] int yields() const { return yields_; }
  State test_oldest() override {
    if (looked_ > 0) yields_ += g_yields - yields_before_;
    yields_before_ = g_yields;
    if (++looked_ <= looks_) return State::pending;
    looked_ = 0;
    State state = State::pending;
    while (state == State::pending) state = PipeMessages::test_oldest();
    return state;
  }

 private:
  int looks_, looked_ = 0;
  int yields_before_ = 0, yields_ = 0;
};

// How often rank 0 gives its core away in a Barrier of two nodes with so many ranks each, in which
// it waits for two messages. Several ranks share a core.
int yields_of_a_barrier(int ranks_per_node, int looks) {
  const int ranks = 2 * ranks_per_node;
  std::vector<std::int32_t> hosts;
  for (int rank = 0; rank < ranks; ++rank) hosts.push_back(rank / ranks_per_node);
  Wires wires(ranks);
  int yields[2];
  EXPECT_EQ(::pipe(yields), 0);
  const Endings endings = fork_ranks(ranks, [&](Rank& self) {
    cpu_set_t allowed, one;
    CPU_ZERO(&one);
    RANK_CHECK(::sched_getaffinity(0, sizeof allowed, &allowed) == 0);
    int core = 0;
    while (!CPU_ISSET(core, &allowed)) ++core;
    CPU_SET(core, &one);
    if (ranks_per_node > 1) RANK_CHECK(::sched_setaffinity(0, sizeof one, &one) == 0);
    wires.become(self.rank);
    auto messages = std::make_shared<SlowMessages>(wires, self.size, self.rank, looks);
    auto team = team_across(self, wires, hosts, false, false, false, messages);
    RANK_CHECK(team->run(Collective::barrier, {}) == ErrorCode::none);
    const int given = messages->yields();
    if (self.rank == 0) RANK_CHECK(::write(yields[1], &given, sizeof given) == sizeof given);
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
  int given = -1;
  ::close(yields[1]);
  EXPECT_EQ(::read(yields[0], &given, sizeof given), static_cast<ssize_t>(sizeof given));
  ::close(yields[0]);
  return given;
}

TEST(Across, GivesCoresAwayAtOnceWhereRanksShareThem) {
  EXPECT_EQ(yields_of_a_barrier(1, 100), 0);
  EXPECT_GT(yields_of_a_barrier(1, 2000), 0);
  EXPECT_GE(yields_of_a_barrier(2, 100), 2 * 100);
}

}  // namespace
}  // namespace tutti::test
