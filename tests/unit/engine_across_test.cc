// SPDX-License-Identifier: BSD-3-Clause
// Teams of several nodes: the nodes are groups of forked processes, which send each other messages
// by pipes.
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <numeric>

#include "choice/contest.h"
#include "engine/call_signature.h"
#include "engine/links.h"
#include "fabric/message_wire.h"
#include "support/across.h"
#include "support/leaders.h"
#include "support/pipe_messages.h"
#include "support/teams.h"

namespace tutti::test {
namespace {

using coll::Work;
using engine::ErrorCode;

// Two hosts at least.
std::vector<std::int32_t> draw_two_hosts(std::mt19937_64& random, int ranks, bool in_order) {
  std::vector<std::int32_t> hosts = draw_hosts(random, ranks, in_order);
  hosts.back() = hosts[0] + (in_order ? 8 : 1);
  return hosts;
}

Script draw_round(std::mt19937_64& random, const std::vector<std::int32_t>& hosts, bool in_order) {
  const auto all = led<fabric::NodeFabric, fabric::MessageWire>();
  Collective most = all[random() % all.size()];
  while (wants_order(most) && !in_order) most = all[random() % all.size()];
  return draw_led_script<fabric::NodeFabric, fabric::MessageWire>(random, most, hosts);
}

// All members have named the same calls, whoever has sent messages in them.
void check_entered(Rank& self, const PipeMessages& messages) {
  const std::uint64_t mine = messages.entered();
  std::vector<std::uint64_t> all(static_cast<std::size_t>(self.size));
  RANK_CHECK(self.world.allgather(&mine, all.data(), sizeof mine));
  RANK_CHECK(mine != 0 && std::ranges::count(all, mine) == self.size);
}

TEST(Across, GivesTheSequentialResult) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    std::mt19937_64 random(mix(seed));
    const int ranks = 2 + static_cast<int>(random() % 6);
    const std::vector<std::int32_t> hosts = draw_two_hosts(random, ranks, seed % 2 == 0);
    Wires wires(ranks);
    const Endings endings = fork_ranks(ranks, [&](Rank& self) {
      wires.become(self.rank);
      const auto messages = std::make_shared<PipeMessages>(wires, self.size, self.rank, true);
      auto team = team_across(self, wires, hosts, seed % 3 == 0, false, false, messages);
      for (std::uint64_t round = 1; round <= 12; ++round) {
        std::mt19937_64 draws(mix(seed * 100 + round));
        Scene scene(draw_round(draws, hosts, seed % 2 == 0), heap);
        scene.play_alone(self.rank, [&](const Op& op, const Work& work) {
          RANK_CHECK(team->run(op.algorithm.collective, work) == ErrorCode::none);
        });
        RANK_CHECK(team->run(Collective::barrier, {}) == ErrorCode::none);
        check_verdict(scene, self.rank, "round", round);
      }
      check_entered(self, *messages);
    });
    ASSERT_TRUE(endings.all(0)) << "seed " << seed << "\n" << endings.output;
  }
}

// A nonblocking collective of a scene, until it is over.
struct Background : engine::Pending {
  Background(engine::Team& team, Scene& scene, std::size_t at, int rank)
      : index(at), kept(scene.enter(at, rank)) {
    collective = scene.script().ops[index].algorithm.collective;
    work = kept;
    RANK_CHECK(team.may_start(collective, work) == ErrorCode::none);
    team.start(*this);
    team.end_start();
  }
  std::size_t index;
  Work kept;
};

void take_finished(Scene& scene, int rank, std::vector<std::unique_ptr<Background>>& under_way) {
  progress::OperationList finished = engine::driver().finished();
  while (progress::Operation* operation = finished.pop()) {
    auto* const over = static_cast<Background*>(operation);
    RANK_CHECK(engine::Team::finish(*over) == ErrorCode::none);
    scene.leave_alone(over->index, rank, over->kept);
    engine::driver().completed();
    std::erase_if(under_way, [&](const auto& each) { return each.get() == over; });
  }
}

// Nonblocking collectives among blocking ones, with the progress thread; on some ranks that may
// send and receive messages.
TEST(Across, NonblockingOnesGiveTheSequentialResult) {
  for (std::uint64_t seed = 1; seed <= 16; ++seed) {
    std::mt19937_64 random(mix(seed));
    const int ranks = 2 + static_cast<int>(random() % 6);
    const std::vector<std::int32_t> hosts = draw_two_hosts(random, ranks, seed % 2 == 0);
    Wires wires(ranks);
    const Endings endings = fork_ranks(ranks, [&](Rank& self) {
      std::mt19937_64 own(mix(seed * 100 + static_cast<std::uint64_t>(self.rank)));
      wires.become(self.rank);
      const auto background = std::make_shared<PipeMessages>(wires, self.size, self.rank, false);
      auto team =
          team_across(self, wires, hosts, false, own() % 2 == 0, false, nullptr, false, background);
      for (std::uint64_t round = 1; round <= 12; ++round) {
        std::mt19937_64 draws(mix(seed * 100 + round));
        Scene scene(draw_round(draws, hosts, seed % 2 == 0), heap);
        std::vector<std::unique_ptr<Background>> under_way;
        for (std::size_t i = 0; i < scene.script().ops.size(); ++i) {
          if (draws() % 3 != 0) {
            under_way.push_back(std::make_unique<Background>(*team, scene, i, self.rank));
            for (auto looks = own() % 4; looks > 0; --looks) engine::driver().drive();
          } else {
            const Work work = scene.enter(i, self.rank);
            RANK_CHECK(team->run(scene.script().ops[i].algorithm.collective, work) ==
                       ErrorCode::none);
            scene.leave_alone(i, self.rank, work);
          }
          if (own() % 4 == 0) take_finished(scene, self.rank, under_way);
        }
        progress::Driver::Wait wait(engine::driver());
        while (!under_way.empty()) {
          wait.step(true);
          take_finished(scene, self.rank, under_way);
        }
        check_verdict(scene, self.rank, "round", round);
      }
      engine::driver().stop();
      check_entered(self, *background);
    });
    ASSERT_TRUE(endings.all(0)) << "seed " << seed << "\n" << endings.output;
  }
}

// Those that are received as one take so long longer, or those in parts.
class UnequalMessages : public PipeMessages {
 public:
  UnequalMessages(Wires& wires, Rank& self, bool parts_are_slow)
      : PipeMessages(wires, self.size, self.rank, true), parts_are_slow_(parts_are_slow) {}
  void cut(const fabric::Cut& cut) override { cut_ = cut; }
  [[nodiscard]] const fabric::Cut& cut() const { return cut_; }
  bool receive(int member, void* to, std::size_t bytes, fabric::Whole whole) override {
    const bool parts = bytes >= cut_.least_bytes;
    if (bytes > 1024 && parts == parts_are_slow_) late_ = os::now_ns() + 25'000'000;
    return PipeMessages::receive(member, to, bytes, whole);
  }
  State test_oldest() override {
    return os::now_ns() < late_ ? State::pending : PipeMessages::test_oldest();
  }

 private:
  bool parts_are_slow_;
  fabric::Cut cut_;
  std::int64_t late_ = 0;
};

// All members choose the same, whoever of them leads.
TEST(Across, CutsMessagesWherePartsAreFaster) {
  for (const bool parts_are_slow : {false, true}) {
    const std::vector<std::int32_t> hosts = {0, 1, 0, 2, 1};
    const int ranks = static_cast<int>(hosts.size());
    Wires wires(ranks);
    const Endings endings = fork_ranks(ranks, [&](Rank& self) {
      wires.become(self.rank);
      const auto messages = std::make_shared<UnequalMessages>(wires, self, parts_are_slow);
      auto team = team_across(self, wires, hosts, false, false, false, messages);
      const engine::MessageTrial found = team->try_messages(128 << 10, 4096);
      RANK_CHECK(found.parts_as_fast == !parts_are_slow);
      std::size_t mine = found.start_bytes, all[5];
      RANK_CHECK(self.world.allgather(&mine, all, sizeof mine));
      RANK_CHECK(mine > 0 && std::ranges::count(all, mine) == ranks);
      team->shape_messages({4096, 8192}, 128 << 10);
      RANK_CHECK(messages->cut().part_bytes == 4096 && messages->cut().least_bytes == 8192);
      RANK_CHECK(team->run(Collective::barrier, {}) == ErrorCode::none);
      // It is no call of the program.
      const engine::Account& account = team->account_so_far();
      RANK_CHECK(std::accumulate(account.calls.begin(), account.calls.end(), 0U) == 1);
      RANK_CHECK(std::ranges::max(account.sent, {}, &fabric::Sent::messages).messages <= 2);
      // Rank 0 leads, and passes two pieces on; it would be eight of the usual length.
      std::vector<char> vector(256 << 10);
      Work work{.send = vector.data(), .recv = vector.data(), .count = vector.size()};
      RANK_CHECK(team->run(Collective::bcast, work) == ErrorCode::none);
      const auto passed =
          team->account_so_far().sent[static_cast<std::size_t>(Collective::bcast)].messages;
      RANK_CHECK(self.rank != 0 || passed == 2);
    });
    ASSERT_TRUE(endings.all(0)) << endings.output;
  }
}

// A member that has gone ends it.
TEST(Across, ComparesNoMessagesWithOneThatHasGone) {
  const std::vector<std::int32_t> hosts = {0, 0, 1, 1};
  Wires wires(4);
  const Endings endings = fork_ranks(4, [&](Rank& self) {
    auto team = team_across(self, wires, hosts);
    if (self.rank == 2) ::_exit(0);
    for (int trial = 0; trial < 2; ++trial) {
      const engine::MessageTrial found = team->try_messages(128 << 10, 4096);
      RANK_CHECK(!found.parts_as_fast && found.start_bytes == 0);
    }
    RANK_CHECK(team->run(Collective::barrier, {}) != ErrorCode::none);
  });
  ASSERT_TRUE(endings.all(0)) << endings.output;
}

// How many of `calls` of an Allreduce the MPI was left, which takes so long; the same ones on all.
int turns_of_the_mpi(engine::Team& team, int calls, std::uint64_t size, useconds_t mpi_us) {
  std::vector<std::uint64_t> mine(size, 1), sums(size);
  const auto reduction = [&](const std::uint64_t* send, std::uint64_t* recv, std::size_t count,
                             reduce::Op op) {
    return Work{.send = send,
                .recv = recv,
                .count = count,
                .element_bytes = sizeof *send,
                .kernel = reduce::find(op, reduce::Type::u64)};
  };
  const Work work = reduction(mine.data(), sums.data(), size, reduce::Op::sum);
  int turns = 0;
  std::uint64_t history = 0, least = 0, most = 0;
  for (int call = 0; call < calls; ++call) {
    const bool left = team.leaves(Collective::allreduce, work) != nullptr;
    const choice::Turn turn;
    history = mix(history + left);
    turns += left;
    if (left) {
      ::usleep(mpi_us);
      turn.ends(0);
      continue;
    }
    RANK_CHECK(team.run(Collective::allreduce, work) == ErrorCode::none);
    turn.ends(0);
    RANK_CHECK(std::ranges::all_of(
        sums, [&](std::uint64_t sum) { return sum == static_cast<std::uint64_t>(team.size()); }));
  }
  for (auto [op, to] : {std::pair{reduce::Op::min, &least}, {reduce::Op::max, &most}})
    RANK_CHECK(team.run(Collective::allreduce, reduction(&history, to, 1, op)) == ErrorCode::none);
  RANK_CHECK(least == most);
  return turns;
}

TEST(Across, LeavesTheMpiWhatItDoesFaster) {
  const std::vector<std::int32_t> few{0, 0, 1, 1}, uneven{0, 1, 1, 1, 0, 2};
  for (const auto& [hosts, shares_cores] :
       {std::pair{few, false}, {uneven, false}, {few, true}, {uneven, true}}) {
    const int ranks = static_cast<int>(hosts.size());
    Wires wires(ranks);
    const Endings endings = fork_ranks(ranks, [&](Rank& self) {
      auto team = team_across(self, wires, hosts, false, false, true, nullptr, shares_cores);
      RANK_CHECK(team->performs(Collective::allreduce, Work{}));
      RANK_CHECK(!team->starts_nonblocking());
      // Sizes have contests of their own, which end after four calls of the slow side or twenty; or
      // 36, where a short run does not say that the MPI is faster.
      RANK_CHECK(turns_of_the_mpi(*team, 100, 1, 30'000) <= 20);
      RANK_CHECK(turns_of_the_mpi(*team, 100, 1 << 20, 0) >= (shares_cores ? 60 : 90));
      RANK_CHECK(turns_of_the_mpi(*team, 100, 1, 30'000) == 0);
    });
    EXPECT_TRUE(endings.all(0)) << endings.output;
  }
}

// Who computes a sum of floats must not follow from what took how long: its bits would.
TEST(Across, SumsOfFloatsAreAlwaysOfTheSameSide) {
  struct Case {
    std::vector<std::int32_t> hosts;
    bool left;
  };
  for (const auto& [hosts, left] : {Case{{0, 0, 1, 1}, false}, Case{{0, 1, 2}, true}}) {
    const int ranks = static_cast<int>(hosts.size());
    Wires wires(ranks);
    const Endings endings = fork_ranks(ranks, [&](Rank& self) {
      auto team = team_across(self, wires, hosts, false, false, true);
      double value = 1, sum = 0;
      Work work{.send = &value, .recv = &sum, .count = 1, .element_bytes = sizeof value};
      for (const auto type : {reduce::Type::f64, reduce::Type::u64}) {
        work.kernel = reduce::find(reduce::Op::sum, type);
        int turns = 0;
        for (int call = 0; call < 20; ++call) {
          const bool leaves = team->leaves(Collective::allreduce, work) != nullptr;
          turns += leaves;
          if (!leaves) RANK_CHECK(team->run(Collective::allreduce, work) == ErrorCode::none);
        }
        if (type == reduce::Type::f64)
          RANK_CHECK(turns == (left ? 20 : 0));
        else
          RANK_CHECK(turns > 0 && turns < 20);
      }
    });
    EXPECT_TRUE(endings.all(0)) << endings.output;
  }
}

// Calls that are compared are never the MPI's.
TEST(Across, LeavesNothingThatIsCompared) {
  Wires wires(4);
  const Endings endings = fork_ranks(4, [&](Rank& self) {
    auto team = team_across(self, wires, {0, 0, 1, 1}, true, false, true);
    RANK_CHECK(turns_of_the_mpi(*team, 20, 1, 0) == 0);
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
}

TEST(Across, CountsWhatLeadersSend) {
  Wires wires(8);
  const Endings endings = fork_ranks(8, [&](Rank& self) {
    auto team = team_across(self, wires, {0, 0, 1, 1, 2, 2, 3, 3});
    double value = self.rank, sum = 0;
    const Work work{.send = &value,
                    .recv = &sum,
                    .count = 1,
                    .element_bytes = sizeof value,
                    .kernel = reduce::find(reduce::Op::sum, reduce::Type::f64)};
    RANK_CHECK(team->run(Collective::barrier, {}) == ErrorCode::none);
    RANK_CHECK(team->run(Collective::allreduce, work) == ErrorCode::none);
    RANK_CHECK(sum == 28);
    const auto& account = team->account_so_far();
    const std::uint64_t each = self.rank % 2 == 0 ? 2 : 0;  // the logarithm of four nodes
    RANK_CHECK(account.sent[engine::kind_of(Collective::barrier, true)].messages == each);
    RANK_CHECK(account.sent[engine::kind_of(Collective::allreduce, true)].messages == each);
    RANK_CHECK(account.sent[engine::kind_of(Collective::allreduce, true)].bytes == 8 * each);
    // With no leaders each rank has a partner on its node and two elsewhere; in a Barrier that on
    // its node comes before it, and the next one is elsewhere.
    const auto& others = account.without_leaders;
    RANK_CHECK(others[engine::kind_of(Collective::barrier, true)].messages == 2U + self.rank % 2);
    RANK_CHECK(others[engine::kind_of(Collective::allreduce, true)].messages == 2);
    RANK_CHECK(others[engine::kind_of(Collective::allreduce, true)].bytes == 16);
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
}

// Of an Alltoall, flat algorithms send a message from each rank to each: 192 between four nodes of
// four ranks. Leaders send 12 of what they pack.
TEST(Across, PacksWhatGoesFromNodeToNode) {
  constexpr int nodes = 4, each = 4, ranks = nodes * each;
  Wires wires(ranks);
  const Endings endings = fork_ranks(ranks, [&](Rank& self) {
    std::vector<std::int32_t> hosts;
    for (int rank = 0; rank < ranks; ++rank) hosts.push_back(rank / each);
    auto team = team_across(self, wires, hosts);
    const std::size_t kind = engine::kind_of(Collective::alltoall, true);
    const auto& sent = team->account_so_far().sent[kind].messages;
    const auto& others = team->account_so_far().without_leaders[kind].messages;
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{64} << 10}) {
      std::vector<std::byte> send(ranks * bytes, std::byte(self.rank)), recv(ranks * bytes);
      std::vector<coll::Block> out, in;
      for (std::size_t q = 0; q < ranks; ++q) {
        out.push_back({&send[q * bytes], bytes});
        in.push_back({&recv[q * bytes], bytes});
      }
      const std::uint64_t before = sent;
      const Work work{.count = bytes, .out = out, .in = in};
      RANK_CHECK(team->run(Collective::alltoall, work) == ErrorCode::none);
      for (std::size_t i = 0; i < recv.size(); ++i) RANK_CHECK(recv[i] == std::byte(i / bytes));
      const int packed = self.rank % each == 0 ? nodes - 1 : 0;
      RANK_CHECK(sent - before == static_cast<std::uint64_t>(bytes == 8 ? packed : ranks - each));
    }
    RANK_CHECK(others == 2 * (ranks - each));
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
}

// What is awaited has another length than what is sent: the members of both nodes call different
// things. Whoever sees it says so, and its node's members end.
TEST(Across, NoticesMessagesOfAnotherLength) {
  Wires wires(4);
  const Endings endings = fork_ranks(4, [&](Rank& self) {
    auto team = team_across(self, wires, {0, 0, 1, 1});
    std::vector<std::byte> data(self.rank < 2 ? 100 : 200);
    const Work work{.recv = data.data(), .count = data.size(), .root = 0};
    const ErrorCode error = team->run(Collective::bcast, work);
    RANK_CHECK(self.rank < 2 ? error == ErrorCode::none : error != ErrorCode::none);
    if (self.rank < 2) return;
    RANK_CHECK(team->run(Collective::barrier, {}) != ErrorCode::none);
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
  EXPECT_NE(endings.output.find("lost its messages to other nodes"), std::string::npos)
      << endings.output;
}

// They know that rank 2 is in another call: at rank 0 soon after it has begun to wait.
class StrayMessages : public PipeMessages {
 public:
  StrayMessages(Wires& wires, Rank& self)
      : PipeMessages(wires, self.size, self.rank, true), knows_(self.rank == 0) {}
  std::optional<Stray> find_stray() override {
    if (!knows_ || --looks_ > 0) return {};
    const engine::CallSignature theirs{Collective::scan, 0, 1, 8}, mine{Collective::barrier};
    return Stray{2, theirs.encode(), mine.encode()};
  }

 private:
  bool knows_;
  int looks_ = 3;
};

// Who leads hears of it, or another member of its node; all of them end.
TEST(Across, NoticesAnotherCall) {
  for (const bool leads : {false, true}) {
    Wires wires(4);
    const Endings endings = fork_ranks(4, [&](Rank& self) {
      wires.become(self.rank);
      const std::vector<std::int32_t> hosts = {0, 0, 1, 1};
      auto team = team_across(self, wires, hosts, false, false, false,
                              std::make_shared<StrayMessages>(wires, self));
      if (self.rank < 2) {
        // A Reduce is awaited by its root, which then leads.
        double value = 1, sum = 0;
        const Work work{.send = &value,
                        .recv = &sum,
                        .count = 1,
                        .element_bytes = sizeof value,
                        .kernel = reduce::find(reduce::Op::sum, reduce::Type::f64),
                        .root = leads ? 0 : 1};
        const ErrorCode first = team->run(Collective::reduce, work);
        const ErrorCode error =
            first == ErrorCode::none ? team->run(Collective::barrier, {}) : first;
        RANK_CHECK(error == (self.rank == 0 ? ErrorCode::mismatched : ErrorCode::peer_error));
      }
      char mine = 0, all[4];
      RANK_CHECK(self.world.allgather(&mine, all, 1));  // until then no pipe is closed
    });
    EXPECT_TRUE(endings.all(0)) << endings.output;
    EXPECT_NE(endings.output.find("its rank 2 MPI_Scan (MPI_SUM) of 8 bytes, its rank 0 MPI_Barr"),
              std::string::npos)
        << endings.output;
  }
}

// Starts a nonblocking collective and waits for it.
ErrorCode start_and_wait(engine::Team& team, Collective collective, const Work& work) {
  if (const ErrorCode error = team.may_start(collective, work); error != ErrorCode::none)
    return error;
  engine::Pending pending;
  pending.collective = collective;
  pending.work = work;
  team.start(pending);
  team.end_start();
  progress::Driver::Wait wait(engine::driver());
  while (!engine::driver().has_finished()) wait.step(true);
  (void)engine::driver().finished();
  const ErrorCode error = engine::Team::finish(pending);
  engine::driver().completed();
  return error;
}

// The same of nonblocking ones, of which blocking ones hear nothing.
TEST(Across, NoticesMessagesOfAnotherLengthInTheBackground) {
  for (const bool any_thread : {false, true}) {
    Wires wires(4);
    const Endings endings = fork_ranks(4, [&](Rank& self) {
      auto team = team_across(self, wires, {0, 0, 1, 1}, false, any_thread);
      std::vector<std::byte> data(self.rank < 2 ? 100 : 200);
      const Work work{.recv = data.data(), .count = data.size(), .root = 0};
      const ErrorCode error = start_and_wait(*team, Collective::bcast, work);
      RANK_CHECK(self.rank < 2 ? error == ErrorCode::none : error != ErrorCode::none);
      RANK_CHECK(team->run(Collective::barrier, {}) == ErrorCode::none);
      RANK_CHECK(start_and_wait(*team, Collective::barrier, {}) != ErrorCode::none);
      RANK_CHECK(team->run(Collective::barrier, {}) == ErrorCode::none);
      engine::driver().stop();
    });
    EXPECT_TRUE(endings.all(0)) << endings.output;
    EXPECT_NE(endings.output.find("lost its messages to other nodes"), std::string::npos)
        << endings.output;
  }
}

// Rank 3 sends the root more than it has room for, or the root sends that to rank 3.
TEST(Across, NoticesWhoHasNoRoom) {
  for (const Collective collective : {Collective::gatherv, Collective::scatterv}) {
    const bool gathers = collective == Collective::gatherv;
    Wires wires(4);
    const Endings endings = fork_ranks(4, [&](Rank& self) {
      auto team = team_across(self, wires, {0, 0, 1, 1});
      std::vector<std::byte> data(500), own(200);
      coll::Block mine{own.data(), self.rank == 3 && gathers ? 200u : 100u, nullptr};
      std::vector<coll::Block> all;
      for (std::size_t q = 0; self.rank == 0 && q < 4; ++q)
        all.push_back({data.data() + q * 100, q == 3 && !gathers ? 200u : 100u, nullptr});
      const Work work{.root = 0,
                      .out = gathers ? std::span(&mine, 1) : std::span(all),
                      .in = gathers ? std::span(all) : std::span(&mine, 1)};
      const ErrorCode error = team->run(collective, work);
      if (self.rank == (gathers ? 0 : 3)) RANK_CHECK(error == ErrorCode::truncated);
    });
    EXPECT_TRUE(endings.all(0)) << endings.output;
    const char* said = gathers ? "its rank 3 sends 200 bytes to its rank 0 in MPI_Gatherv"
                               : "its rank 0 sends 200 bytes to its rank 3 in MPI_Scatterv";
    EXPECT_NE(endings.output.find(said), std::string::npos) << endings.output;
  }
}

// Strictly, calls of one length are told apart, too.
TEST(Across, ComparesCallsStrictly) {
  Wires wires(4);
  const Endings endings = fork_ranks(4, [&](Rank& self) {
    auto team = team_across(self, wires, {0, 0, 1, 1}, true);
    double value = 1, sum = 0;
    const Work reduction{.send = &value,
                         .recv = &sum,
                         .count = 1,
                         .element_bytes = sizeof value,
                         .kernel = reduce::find(reduce::Op::sum, reduce::Type::f64)};
    const Work bcast{.recv = &value, .count = sizeof value, .root = 0};
    const ErrorCode error = self.rank < 2 ? team->run(Collective::allreduce, reduction)
                                          : team->run(Collective::bcast, bcast);
    RANK_CHECK(error != ErrorCode::none);
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
  EXPECT_NE(endings.output.find("its rank 0 MPI_Allreduce of 8 bytes, its rank 2 MPI_Bcast, root 0 "
                                "of 8 bytes"),
            std::string::npos)
      << endings.output;
}

TEST(Across, NoticesTheEndOfAMember) {
  for (const bool blocking : {true, false})
    for (const int victim : {1, 2, 3}) {
      Wires wires(4);
      const Endings endings = fork_ranks(
          4,
          [&](Rank& self) {
            auto team = team_across(self, wires, {0, 0, 1, 1}, false, self.rank % 2 == 0);
            const auto meet = [&] {
              return blocking ? team->run(Collective::barrier, {})
                              : start_and_wait(*team, Collective::barrier, {});
            };
            RANK_CHECK(meet() == ErrorCode::none);
            // Who is still in it may hear of the end of one that is through.
            int mine = 0, all[4];
            RANK_CHECK(self.world.allgather(&mine, all, sizeof mine));
            if (self.rank == victim) ::raise(SIGKILL);
            while (meet() == ErrorCode::none) continue;
            std::_Exit(7);
          },
          30);
      for (int rank = 0; rank < 4; ++rank)
        EXPECT_EQ(endings.status[static_cast<std::size_t>(rank)], rank == victim ? -SIGKILL : 7)
            << "victim " << victim << (blocking ? "" : ", in the background") << "\n"
            << endings.output;
    }
}

}  // namespace
}  // namespace tutti::test
