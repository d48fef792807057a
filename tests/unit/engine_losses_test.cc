// SPDX-License-Identifier: BSD-3-Clause
// Ranks that have gone, however they went, leave no memory in those that go on, and nobody takes
// what is no longer there for data.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "commons/commons.h"
#include "commons/heap.h"
#include "engine/engine.h"
#include "engine/node.h"
#include "engine/pending.h"
#include "os/os.h"
#include "os/program.h"
#include "progress/progress.h"
#include "support/denied.h"
#include "support/fork_ranks.h"

namespace tutti::engine {
namespace {

using coll::Collective;
using test::Rank;

constexpr std::size_t bytes = std::size_t{4} << 20;

std::shared_ptr<Node> node_of(Rank& self, const char* memory = "commons,cma,bounce") {
  ::setenv("TUTTI_MEMORY", memory, 1);
  std::shared_ptr<Node> node;
  RANK_CHECK(Node::join(self.world, node).ok());
  RANK_CHECK(node->transports().ways.has(memory::Transport::mapped) ||
             std::strstr(memory, "commons") == nullptr);
  return node;
}

// What this process sees of a block of each of the others.
std::vector<const std::byte*> blocks_of_all(Rank& self, const Node& node) {
  auto* block = static_cast<std::byte*>(commons::allocate(bytes, 4096, false));
  RANK_CHECK(block != nullptr);
  std::memset(block, 1 + self.rank, bytes);
  memory::Card mine = memory::offer(block, bytes, node.transports()), all[8];
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
    const auto threads = os::thread_count();  // a sanitizer may have one
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
    RANK_CHECK(os::thread_count() == threads);
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

ErrorCode call(Team& team, Collective collective, const coll::Work& work, bool blocking) {
  if (blocking) return team.run(collective, work);
  RANK_CHECK(team.may_start(collective, work) == ErrorCode::none);
  Pending pending;
  pending.collective = collective;
  pending.work = work;
  team.start(pending);
  team.end_start();
  while (driver().finished().empty()) driver().drive();
  const ErrorCode error_code = Team::finish(pending);
  driver().stop();
  return error_code;
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
      const ErrorCode error_code = call(*team, Collective::bcast, work, blocking);
      if (self.rank == 1) RANK_CHECK(error_code == ErrorCode::lost);
      int here = 1, all[2];
      RANK_CHECK(self.world.allgather(&here, all, sizeof here));
      std::_Exit(0);
    });
    EXPECT_TRUE(endings.all(0)) << endings.output;
    EXPECT_NE(endings.output.find("rank 0 (process"), std::string::npos) << endings.output;
  }
}

// Nor are they passed on to those who have not noticed yet: whoever succeeds has the right result.
TEST(Losses, ZerosAreNotPassedOn) {
  for (const auto collective : {Collective::allreduce, Collective::reduce, Collective::bcast})
    for (const bool blocking : {true, false}) {
      const auto endings = test::fork_ranks(4, [&](Rank& self) {
        const std::shared_ptr<Node> node = node_of(self);
        const char* why = "";
        const auto team = Team::create(self.world, node, why);
        RANK_CHECK(team != nullptr);
        const auto make = [](int value) {
          auto* block = static_cast<std::byte*>(commons::allocate(bytes, 4096, false));
          std::memset(block, value, bytes);
          return block;
        };
        const bool computes = collective != Collective::bcast;
        std::byte *send = make(1 + self.rank), *recv = computes ? make(9) : send;
        if (self.rank == 1) node->lose(0);
        const coll::Work work{.send = send,
                              .recv = recv,
                              .count = bytes,
                              .kernel = reduce::find(reduce::Op::sum, reduce::Type::u8),
                              .root = computes ? 2 : 0};
        const ErrorCode error_code = call(*team, collective, work, blocking);
        if (self.rank == 1) RANK_CHECK(error_code == ErrorCode::lost);
        const auto expected = std::byte(computes ? 1 + 2 + 3 + 4 : 1);
        const bool has_result = collective != Collective::reduce || self.rank == 2;
        for (std::size_t i = 0; error_code == ErrorCode::none && has_result && i < bytes; ++i)
          RANK_CHECK(recv[i] == expected);
        int here = 1, all[4];
        RANK_CHECK(self.world.allgather(&here, all, sizeof here));
        std::_Exit(0);
      });
      EXPECT_TRUE(endings.all(0)) << name_of(collective) << blocking << '\n' << endings.output;
    }
}

// The same of what the kernel has not copied for rank 1, which alone hears of it.
TEST(Losses, NorIsWhatCouldNotBeCopied) {
  for (const auto collective : {Collective::allreduce, Collective::gather}) {
    const auto endings = test::fork_ranks(4, [&](Rank& self) {
      const std::shared_ptr<Node> node = node_of(self, "cma,bounce");
      RANK_CHECK(node->transports().ways.has(memory::Transport::copied));
      const char* why = "";
      const auto team = Team::create(self.world, node, why);
      RANK_CHECK(team != nullptr);
      const bool computes = collective == Collective::allreduce;
      auto* send = static_cast<std::byte*>(os::map_private(5 * bytes));
      auto* recv = send + bytes;
      std::memset(send, 1 + self.rank, bytes);
      const coll::Block out[] = {{send, bytes, nullptr}};
      std::vector<coll::Block> in;
      for (std::size_t rank = 0; self.rank == 0 && rank < 4; ++rank)
        in.push_back({recv + rank * bytes, bytes, nullptr});
      coll::Work work{.count = bytes};
      if (computes) {
        work.send = send;
        work.recv = recv;
        work.kernel = reduce::find(reduce::Op::sum, reduce::Type::u8);
      } else {
        work.out = out;
        work.in = in;
      }
      if (self.rank == 1) test::deny({SYS_process_vm_readv, SYS_process_vm_writev}, EPERM);
      const auto expected = [&](std::size_t rank) {
        return computes ? std::byte{1 + 2 + 3 + 4} : std::byte(1 + rank);
      };
      const std::size_t results = computes ? 1 : in.size();
      // A call succeeds in which the others have done all of rank 1's part, as it had no core.
      ErrorCode error_code = ErrorCode::none;
      for (int calls = 0; calls < 1000 && error_code == ErrorCode::none; ++calls) {
        error_code = call(*team, collective, work, true);
        for (std::size_t i = 0; error_code == ErrorCode::none && i < results * bytes; ++i)
          RANK_CHECK(recv[i] == expected(i / bytes));
      }
      if (self.rank == 1) RANK_CHECK(error_code == ErrorCode::unreachable);
      int here = 1, all[4];
      RANK_CHECK(self.world.allgather(&here, all, sizeof here));
      std::_Exit(0);
    });
    EXPECT_TRUE(endings.all(0)) << endings.output;
  }
}

// Nor does anybody wait for memory that a rank had reserved for a fork when it left.
TEST(Losses, WhoHasLeftReservesNothing) {
  const auto endings = test::fork_ranks(2, [](Rank& self) {
    static int looks = 0;
    std::shared_ptr<Node> node = node_of(self);
    if (self.rank == 0) {
      RANK_CHECK(commons::heap.reservation.load()->reserve(8));
      node.reset();
    }
    int here = 1, all[2];
    RANK_CHECK(self.world.allgather(&here, all, sizeof here));
    if (self.rank == 1)
      RANK_CHECK(node->segment().reserve(1, 2, 5, [] {
        return std::uint64_t{++looks < 9 ? 10u : 100u};
      }) && looks == 1);
    RANK_CHECK(self.world.allgather(&here, all, sizeof here));
    if (self.rank == 0) commons::heap.reservation.load()->release();
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
}

// Whether it can be read.
bool is_accessible(const std::byte* byte) {
  int ends[2];
  RANK_CHECK(::pipe(ends) == 0);
  const bool readable = ::write(ends[1], byte, 1) == 1;
  ::close(ends[0]);
  ::close(ends[1]);
  return readable;
}

// The rank's program leaves a communicator to itself.
TEST(Losses, WhoIsDoneKeepsNothing) {
  const auto endings = test::fork_ranks(2, [](Rank& self) {
    const std::shared_ptr<Node> node = node_of(self);
    const char* why = "";
    const auto team = Team::create(self.world, node, why);
    const auto blocks = blocks_of_all(self, *node);
    let_go_of_peers();
    RANK_CHECK(!is_accessible(blocks[1 - self.rank] + bytes / 2));
    node->lose(1 - self.rank);  // who is noticed late gets nothing back
    RANK_CHECK(!is_accessible(blocks[1 - self.rank] + bytes / 2));
    RANK_CHECK(blocks[self.rank][bytes / 2] == std::byte(1 + self.rank));
    int here = 1, all[2];
    RANK_CHECK(self.world.allgather(&here, all, sizeof here));
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
}

}  // namespace
}  // namespace tutti::engine
