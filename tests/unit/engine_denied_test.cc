// SPDX-License-Identifier: BSD-3-Clause
// Processes that are refused what the best ways need, really refused by the kernel: the ladder
// falls as far as it must, for all ranks alike, and everything works. Where it cannot work, all are
// told.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "engine/handover.h"
#include "support/denied.h"
#include "support/teams.h"

namespace tutti::engine {
namespace {

using coll::Collective;
using test::Rank;

struct Denial {
  const char* name;
  void (*impose)(Rank& self);
  const char* heap_way;
  const char* static_way;
};

void no_looking_at_any(Rank&) {
  test::become_unprivileged();
  test::let_others_look(false);
}
void no_looking_at_rank_1(Rank& self) {
  test::become_unprivileged();
  test::let_others_look(self.rank != 1);
}
void no_looking_at_rank_0(Rank& self) {  // whose segment it is
  test::become_unprivileged();
  test::let_others_look(self.rank != 0);
}
void nobody_asks_but_rank_2(Rank& self) {
  if (self.rank == 2)
    test::deny({SYS_process_vm_readv, SYS_process_vm_writev, SYS_pidfd_getfd}, EPERM);
  no_looking_at_rank_0(self);
}
void filtered_copies(Rank&) {
  test::deny({SYS_process_vm_readv, SYS_process_vm_writev, SYS_pidfd_getfd}, EPERM);
}
void filtered_copies_at_one(Rank& self) {
  if (self.rank == 1) test::deny({SYS_process_vm_readv, SYS_process_vm_writev}, ENOSYS);
}
void filtered_writes(Rank&) { test::deny({SYS_process_vm_writev}, EPERM); }
// As in a container that allows next to nothing.
void filtered_and_hidden(Rank& self) {
  no_looking_at_any(self);
  test::deny({SYS_process_vm_readv, SYS_process_vm_writev, SYS_pidfd_getfd, SYS_pidfd_open,
              SYS_membarrier, SYS_ptrace, SYS_kcmp},
             EPERM);
}
void no_denial(Rank&) {
  test::become_unprivileged();
  test::let_others_look(true);  // a change of user had ended that
}

constexpr Denial denials[] = {
    {"nothing", no_denial, "commons", "cma"},
    {"looking_at_any", no_looking_at_any, "commons", "bounce"},
    {"looking_at_rank_1", no_looking_at_rank_1, "commons", "bounce"},
    {"looking_at_rank_0", no_looking_at_rank_0, "commons", "bounce"},
    {"looking_at_rank_0_and_asking", nobody_asks_but_rank_2, "commons", "bounce"},
    {"copies", filtered_copies, "commons", "bounce"},
    {"copies_at_one", filtered_copies_at_one, "commons", "bounce"},
    {"writes", filtered_writes, "commons", "bounce"},
    {"nearly_everything", filtered_and_hidden, "commons", "bounce"},
};

class Denied : public ::testing::TestWithParam<Denial> {};

TEST_P(Denied, TheLadderFallsAndEverythingWorks) {
  for (const int ranks : {3, 5}) {
    const auto endings = test::fork_ranks(ranks, [](Rank& self) {
      GetParam().impose(self);
      const int lowest_before = ::dup(0);
      ::close(lowest_before);
      const auto node = test::join(self);
      const auto team = test::team_of(self.world, node);
      constexpr std::size_t count = std::size_t{1} << 18;
      const auto* kernel = reduce::find(reduce::Op::sum, reduce::Type::f32);
      for (const auto& [memory, way] :
           {std::pair{test::heap.allocate(2 * count * 4), GetParam().heap_way},
            std::pair{test::from_static(2 * count * 4), GetParam().static_way}}) {
        auto* send = static_cast<float*>(memory);
        for (std::size_t i = 0; i < count; ++i) send[i] = static_cast<float>(i % 1000);
        team->run(Collective::allreduce, {.send = send,
                                          .recv = send + count,
                                          .count = count,
                                          .element_bytes = 4,
                                          .kernel = kernel});
        for (std::size_t i = 0; i < count; ++i)
          RANK_CHECK(send[count + i] == static_cast<float>(self.size) * send[i]);
        if (std::string(last_way()) != way) std::fprintf(stderr, "by %s\n", last_way());
        RANK_CHECK(std::string(last_way()) == way);
      }
      for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        test::play(*team, 2 * seed, test::heap);
        test::play(*team, 2 * seed + 1, test::static_data);
      }
      // Neither sockets nor descriptors of peers stay open.
      RANK_CHECK(::dup(0) == lowest_before);
    });
    EXPECT_TRUE(endings.all(0)) << ranks << " ranks: " << endings.output;
  }
}

INSTANTIATE_TEST_SUITE_P(What, Denied, ::testing::ValuesIn(denials),
                         [](const auto& row) { return row.param.name; });

// All are told the same, and nobody waits for ever.
void nothing_is_possible(int ranks, void (*impose)(Rank& self)) {
  const auto endings = test::fork_ranks(ranks, [&](Rank& self) {
    impose(self);
    std::shared_ptr<Node> node;
    const Status status = Node::join(self.world, node);
    RANK_CHECK(!status.ok() && node == nullptr && *status.what != '\0');
    test::meet(self);
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
}

TEST(NothingIsPossible, WithoutSockets) {
  nothing_is_possible(3, [](Rank& self) {
    no_looking_at_any(self);
    test::deny({SYS_socket}, EPERM);
  });
}
TEST(NothingIsPossible, WhenOneHasNoSockets) {
  nothing_is_possible(3, [](Rank& self) {
    no_looking_at_any(self);
    if (self.rank == 1) test::deny({SYS_socket}, EPERM);
  });
}
TEST(NothingIsPossible, WhenNobodyMayConnect) {
  nothing_is_possible(3, [](Rank& self) {
    no_looking_at_any(self);
    test::deny({SYS_connect}, ECONNREFUSED);
  });
}
TEST(NothingIsPossible, BetweenUsers) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become two users";
  nothing_is_possible(3, [](Rank& self) {
    test::become_unprivileged(self.rank == 1 ? 65'533 : 65'534);
    test::let_others_look(false);
  });
}

// A peer that is killed in the midst is noticed where the MPI notices it: in the exchange.
TEST(NothingIsPossible, WithoutAPeer) {
  for (int victim = 0; victim < 3; ++victim)
    for (int round = 1; round <= 5; ++round) {  // five exchanges make a Node
      const auto endings = test::fork_ranks(
          3,
          [&](Rank& self) {
            ::signal(SIGPIPE, SIG_IGN);
            no_looking_at_any(self);
            Exchange mortal = self.world;
            int rounds = 0;
            mortal.allgather = [&](const void* mine, void* all, std::size_t bytes) {
              if (++rounds == round && self.rank == victim) ::kill(::getpid(), SIGKILL);
              return self.world.allgather(mine, all, bytes);
            };
            std::shared_ptr<Node> node;
            const Status status = Node::join(mortal, node);
            std::fprintf(stderr, "%s\n", status.what);
            RANK_CHECK(!status.ok() && node == nullptr);
            std::_Exit(3);
          },
          30);
      for (int rank = 0; rank < 3; ++rank)
        EXPECT_EQ(endings.status[static_cast<std::size_t>(rank)], rank == victim ? -SIGKILL : 3)
            << "round " << round << ": " << endings.output;
      EXPECT_NE(endings.output.find("Allgather failed"), std::string::npos) << endings.output;
    }
}

// More descriptors under way than the kernel lets a user have: they go in rounds.
TEST(Handover, OfMoreThanFitsAtOnce) {
  const auto endings = test::fork_ranks(12, [](Rank& self) {
    no_looking_at_any(self);
    const rlimit few{40, 40};
    RANK_CHECK(::setrlimit(RLIMIT_NOFILE, &few) == 0);
    Exchange counted = self.world;
    int rounds = 0;
    counted.allgather = [&](const void* mine, void* all, std::size_t bytes) {
      ++rounds;
      return self.world.allgather(mine, all, bytes);
    };
    std::shared_ptr<Node> node;
    RANK_CHECK(Node::join(counted, node).ok() &&
               node->transports().ways.has(memory::Transport::mapped));
    RANK_CHECK(rounds > 5);
    test::meet(self);
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
}

// Letters that do not hold the secret, and letters of processes that are no neighbours.
TEST(Handover, IgnoresStrangers) {
  const auto endings = test::fork_ranks(3, [](Rank& self) {
    struct Address {
      pid_t pid;
      std::uint64_t mailbox;
    } all[3];
    os::Mailbox mailbox;
    RANK_CHECK(mailbox.open(8).ok());
    const Address mine{::getpid(), mailbox.name()};
    RANK_CHECK(self.world.allgather(&mine, all, sizeof mine));
    os::Letter letter;
    letter.fds = {STDERR_FILENO, -1};
    for (const std::uint64_t wrong : {0, 99})
      for (const Address& to : all) {
        letter.secret = wrong;
        RANK_CHECK(os::post(to.mailbox, to.pid, letter) == os::Posted::yes);
      }
    std::vector<Neighbour> neighbours;  // rank 2 is none
    for (int rank = 0; rank < 2; ++rank)
      neighbours.push_back(
          {all[rank].pid, static_cast<std::uint64_t>(rank + 1), all[rank].mailbox});
    letter.secret = static_cast<std::uint64_t>(self.rank + 1);
    std::vector<std::size_t> from;
    RANK_CHECK(hand_over(self.world, neighbours, letter, mailbox,
                         [&](std::size_t index, os::Letter& theirs) {
                           RANK_CHECK(theirs.fds[0] >= 0 && theirs.fds[1] < 0);
                           from.push_back(index);
                         }));
    std::sort(from.begin(), from.end());
    const std::vector<std::size_t> expected{0, 1};
    RANK_CHECK(from == (self.rank < 2 ? expected : std::vector<std::size_t>()));
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
}

// Where everybody may look into everybody, no socket is made and no exchange added.
TEST(Handover, CostsNothingWhereItIsNotNeeded) {
  const auto endings = test::fork_ranks(3, [](Rank& self) {
    test::deny({SYS_socket}, ENOSYS);
    Exchange counted = self.world;
    int rounds = 0;
    counted.allgather = [&](const void* mine, void* all, std::size_t bytes) {
      ++rounds;
      return self.world.allgather(mine, all, bytes);
    };
    std::shared_ptr<Node> node;
    RANK_CHECK(Node::join(counted, node).ok() &&
               node->transports().ways.has(memory::Transport::mapped));
    RANK_CHECK(rounds == 3);
    test::meet(self);
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
}

}  // namespace
}  // namespace tutti::engine
