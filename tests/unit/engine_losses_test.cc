// SPDX-License-Identifier: BSD-3-Clause
// Ranks that have gone, however they went, leave no memory in those that go on, and nobody takes
// what is no longer there for data.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>

#include <cstring>
#include <thread>

#include "commons/commons.h"
#include "engine/engine.h"
#include "os/os.h"
#include "os/program.h"
#include "support/fork_ranks.h"

namespace tutti::engine {
namespace {

using coll::Collective;
using test::Rank;

constexpr std::size_t bytes = std::size_t{4} << 20;

std::shared_ptr<Node> node_of(Rank& self) {
  ::setenv("TUTTI_MEMORY", "commons,cma,bounce", 1);
  std::shared_ptr<Node> node;
  RANK_CHECK(Node::join(self.world, node).ok());
  RANK_CHECK(node->ways().mapped);
  return node;
}

// What this process sees of a block of each of the others.
std::vector<const std::byte*> blocks_of_all(Rank& self, const Node& node) {
  auto* block = static_cast<std::byte*>(commons::allocate(bytes, 4096, false));
  RANK_CHECK(block != nullptr);
  std::memset(block, 1 + self.rank, bytes);
  memory::Card mine = memory::offer(block, bytes, node.ways()), all[8];
  RANK_CHECK(self.world.allgather(&mine, all, sizeof mine));
  std::vector<const std::byte*> blocks;
  for (int rank = 0; rank < node.size(); ++rank) {
    blocks.push_back(rank == self.rank ? block : node.reach(rank).map(all[rank]));
    RANK_CHECK(blocks.back()[bytes - 1] == std::byte(1 + rank));
  }
  RANK_CHECK(self.world.allgather(&mine, all, sizeof mine));
  return blocks;
}

void end_by(const char* how) {
  if (std::strcmp(how, "kill") == 0) ::kill(::getpid(), SIGKILL);
  if (std::strcmp(how, "exec") == 0) ::execl("/bin/true", "true", nullptr);
  std::_Exit(0);
}

class Gone : public ::testing::TestWithParam<const char*> {};

// Rank 1 has other threads, too, and rank 2 goes later.
TEST_P(Gone, IsNoticedByWhoLooks) {
  const auto endings = test::fork_ranks(4, [](Rank& self) {
    if (self.rank == 1) std::thread([] { ::pause(); }).detach();
    const std::shared_ptr<Node> node = node_of(self);
    const auto blocks = blocks_of_all(self, *node);
    if (self.rank == 1) end_by(GetParam());
    for (const int gone : {1, 2}) {
      while (!node->reach(gone).is_lost()) node->look_for_losses();
      RANK_CHECK(blocks[gone][0] == std::byte{0} && blocks[gone][bytes - 1] == std::byte{0});
      if (gone == 1 && self.rank == 2) end_by(GetParam());
    }
    RANK_CHECK(!node->reach(0).is_lost() && !node->reach(3).is_lost());
    RANK_CHECK(blocks[0][0] == std::byte{1} && blocks[3][0] == std::byte{4});
    RANK_CHECK(os::thread_count() == 1);
  });
  const int killed = std::strcmp(GetParam(), "kill") == 0 ? -SIGKILL : 0;
  EXPECT_EQ(endings.status, (std::vector<int>{0, killed, killed, 0})) << endings.output;
}

INSTANTIATE_TEST_SUITE_P(Ways, Gone, ::testing::Values("kill", "exec", "exit"),
                         [](const auto& row) { return std::string(row.param); });

// The first thread of a process may end alone.
TEST(Losses, AThreadThatEndsIsNoProcess) {
  const auto endings = test::fork_ranks(2, [](Rank& self) {
    std::shared_ptr<Node> node;
    std::thread joins([&] { node = node_of(self); });
    joins.join();
    const auto blocks = blocks_of_all(self, *node);
    const int peer = 1 - self.rank;
    RANK_CHECK(segment::Segment::marked_as_ended(node->segment().presence(peer)));
    for (int i = 0; i < 100; ++i) node->look_for_losses();
    RANK_CHECK(!node->reach(peer).is_lost() && blocks[peer][0] == std::byte(1 + peer));
    int here = 1, all[2];
    RANK_CHECK(self.world.allgather(&here, all, sizeof here));
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
}

// As if rank 0 had gone right before it is read.
TEST(Losses, ZerosAreNoData) {
  for (const bool blocking : {true, false}) {
    const auto endings = test::fork_ranks(2, [blocking](Rank& self) {
      const std::shared_ptr<Node> node = node_of(self);
      const char* why = "";
      const auto team = Team::create(self.world, node, why);
      RANK_CHECK(team != nullptr);
      auto* block = static_cast<std::byte*>(commons::allocate(bytes, 4096, false));
      std::memset(block, 1 + self.rank, bytes);
      if (self.rank == 1) node->lose(0);
      const coll::Work work{.send = block, .recv = block, .count = bytes, .root = 0};
      Trouble trouble = Trouble::none;
      if (blocking) {
        trouble = team->run(Collective::bcast, work);
      } else {
        RANK_CHECK(team->may_start(Collective::bcast, work) == Trouble::none);
        Pending pending;
        pending.collective = Collective::bcast;
        pending.work = work;
        team->start(pending);
        team->end_start();
        while (driver().finished().empty()) driver().drive();
        trouble = Team::finish(pending);
        driver().stop();
      }
      if (self.rank == 1) RANK_CHECK(trouble == Trouble::lost);
      int here = 1, all[2];
      RANK_CHECK(self.world.allgather(&here, all, sizeof here));
      std::_Exit(0);
    });
    EXPECT_TRUE(endings.all(0)) << endings.output;
    EXPECT_NE(endings.output.find("rank 0 (process"), std::string::npos) << endings.output;
  }
}

// The rank's program leaves a communicator to itself.
TEST(Losses, WhoIsDoneKeepsNothing) {
  const auto endings = test::fork_ranks(2, [](Rank& self) {
    const std::shared_ptr<Node> node = node_of(self);
    const char* why = "";
    const auto team = Team::create(self.world, node, why);
    const auto blocks = blocks_of_all(self, *node);
    let_go_of_peers();
    RANK_CHECK(blocks[1 - self.rank][bytes / 2] == std::byte{0});
    RANK_CHECK(blocks[self.rank][bytes / 2] == std::byte(1 + self.rank));
    int here = 1, all[2];
    RANK_CHECK(self.world.allgather(&here, all, sizeof here));
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
}

}  // namespace
}  // namespace tutti::engine
