// SPDX-License-Identifier: BSD-3-Clause
// What goes wrong in a team ends with one sentence, soon, and leaves nothing behind.
#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <set>

#include "engine/engine.h"
#include "os/os.h"
#include "support/teams.h"

namespace tutti::engine {
namespace {

using coll::Collective;
using test::Rank;

std::shared_ptr<Team> team_of(Rank& self, const char* option) {
  ::setenv("TUTTI_MEMORY", option, 1);
  std::shared_ptr<Node> node;
  RANK_CHECK(Node::join(self.world, node).ok());
  const char* why = "";
  auto team = Team::create(self.world, node, why);
  RANK_CHECK(team != nullptr);
  return team;
}

// Those of Tutti: other programs of this machine come and go.
std::set<std::string> shared_memory_files() {
  std::set<std::string> names;
  if (DIR* directory = ::opendir("/dev/shm")) {
    while (const dirent* entry = ::readdir(directory))
      if (std::strstr(entry->d_name, "tutti") != nullptr) names.insert(entry->d_name);
    ::closedir(directory);
  }
  return names;
}

struct Death {
  const char* name;
  Collective collective;
  std::size_t count;  // of floats
  int root;
  const char* option;
};

constexpr Death deaths[] = {
    {"barrier", Collective::barrier, 0, 0, "commons,cma,bounce"},
    {"small_bcast_from_the_dead", Collective::bcast, 4, 1, "commons,cma,bounce"},
    {"small_bcast_to_the_dead", Collective::bcast, 4, 0, "commons,cma,bounce"},
    {"staged_bcast", Collective::bcast, 100'000, 0, "bounce"},
    {"direct_bcast", Collective::bcast, 100'000, 0, "cma,bounce"},
    {"small_reduce", Collective::reduce, 4, 0, "commons,cma,bounce"},
    {"reduce_to_the_dead", Collective::reduce, 100'000, 1, "cma,bounce"},
    {"small_allreduce", Collective::allreduce, 4, 0, "commons,cma,bounce"},
    {"staged_allreduce", Collective::allreduce, 100'000, 0, "bounce"},
    {"direct_allreduce", Collective::allreduce, 100'000, 0, "cma,bounce"},
};

class Killed : public ::testing::TestWithParam<Death> {};

// Rank 1 is killed between two calls, or by its peer in the midst of one.
TEST_P(Killed, EndsTheOthersWithItsName) {
  const Death& death = GetParam();
  const auto before = shared_memory_files();
  for (const bool in_the_midst : {false, true}) {
    const auto endings = test::fork_ranks(
        3,
        [&](Rank& self) {
          const auto team = team_of(self, death.option);
          std::int32_t pids[3], mine = ::getpid();
          RANK_CHECK(self.world.allgather(&mine, pids, sizeof mine));
          if (self.rank == 2) std::fprintf(stderr, "victim %d\n", pids[1]);
          std::vector<float> send(std::max<std::size_t>(1, death.count), 1.0f), recv(send);
          for (int i = 0;; ++i) {
            if (i == 50 && self.rank == 1 && !in_the_midst) ::kill(::getpid(), SIGKILL);
            if (i == 50 && self.rank == 2 && in_the_midst) ::kill(pids[1], SIGKILL);
            const ErrorCode error_code = team->run(
                death.collective, {.send = send.data(),
                                   .recv = recv.data(),
                                   .count = death.count,
                                   .element_bytes = 4,
                                   .kernel = reduce::find(reduce::Op::sum, reduce::Type::f32),
                                   .root = death.root});
            if (error_code != ErrorCode::none) std::_Exit(1);
          }
        },
        30);
    EXPECT_EQ(endings.status, (std::vector<int>{1, -SIGKILL, 1})) << endings.output;
    int victim = 0;
    const std::size_t at = endings.output.find("victim ");
    ASSERT_NE(at, std::string::npos);
    std::sscanf(endings.output.c_str() + at, "victim %d", &victim);
    EXPECT_NE(endings.output.find("rank 1 (process " + std::to_string(victim) + ") ended while"),
              std::string::npos)
        << endings.output;
    EXPECT_NE(endings.output.find(std::string("MPI_") + coll::name_of(death.collective)),
              std::string::npos)
        << endings.output;
  }
  EXPECT_EQ(shared_memory_files(), before);
}

INSTANTIATE_TEST_SUITE_P(Deaths, Killed, ::testing::ValuesIn(deaths),
                         [](const auto& row) { return row.param.name; });

// Rank 2 has done its part of the last collective and ends while the others still wait for one that
// is late: nobody is lost.
TEST(Faults, WhoHasDoneItsPartMayLeave) {
  const auto endings = test::fork_ranks(3, [](Rank& self) {
    const auto team = team_of(self, "cma,bounce");
    std::int32_t mine = ::getpid(), pids[3];
    RANK_CHECK(self.world.allgather(&mine, pids, sizeof mine));
    float value = 1, sum = 0;
    if (self.rank == 1)  // comes only when rank 2 is gone
      while (!os::has_ended(pids[2])) ::usleep(1000);
    if (self.rank == 1) ::usleep(50'000);  // time enough to be missed
    team->run(Collective::reduce, {.send = &value,
                                   .recv = &sum,
                                   .count = 1,
                                   .element_bytes = 4,
                                   .kernel = reduce::find(reduce::Op::sum, reduce::Type::f32),
                                   .root = 0});
    if (self.rank == 2) std::_Exit(0);  // without a word, not even to the segment
    if (self.rank == 0) RANK_CHECK(sum == 3);
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
}

// Rank 2 has done its part of a Reduce and meets an error in the next call, on its own, while rank
// 0 still waits for rank 1 in the Reduce: that must go well, and the next call must not.
TEST(Faults, AnErrorInTheNextCallIsNoneInThis) {
  auto* failed = static_cast<std::atomic<int>*>(
      ::mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const auto endings = test::fork_ranks(3, [failed](Rank& self) {
    const auto team = team_of(self, "cma,bounce");
    float value = 1, sum = 0;
    if (self.rank == 1) {  // comes only when rank 2 has failed, and time enough to be missed
      while (failed->load() == 0) ::usleep(1000);
      ::usleep(50'000);
    }
    const ErrorCode first =
        team->run(Collective::reduce, {.send = &value,
                                       .recv = &sum,
                                       .count = 1,
                                       .element_bytes = 4,
                                       .kernel = reduce::find(reduce::Op::sum, reduce::Type::f32),
                                       .root = 0});
    RANK_CHECK(first == ErrorCode::none && (self.rank != 0 || sum == 3));
    std::vector<std::byte> memory(100 * 4);
    const std::vector<coll::Block> out(1, {memory.data(), self.rank == 2 ? 50u : 8u});
    const std::vector<coll::Block> in(3, {memory.data() + 100, 8});
    const ErrorCode second =
        team->run(Collective::allgather, {.count = 8, .element_bytes = 1, .out = out, .in = in});
    if (self.rank == 2) *failed = 1;
    RANK_CHECK(second == (self.rank == 2 ? ErrorCode::truncated : ErrorCode::peer_error));
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
}

// In place, rank 1 has more for rank 0 than that has for it: few bytes or many, moved by the two,
// by the one that has gaps, or through the segment.
TEST(Faults, WhatIsTooLongInPlaceIsAnErrorOfTheReceiver) {
  static const layout::Layout gapped(layout::Typemap(4).resized(0, 8));
  for (const char* option : {"commons,cma,bounce", "cma,bounce", "bounce"})
    for (const std::size_t room : {8, 8'000, 800'000})
      for (const int with_gaps : {-1, 0, 1}) {
        const auto endings = test::fork_ranks(2, [&](Rank& self) {
          const auto team = team_of(self, option);
          auto* memory = static_cast<std::byte*>(test::heap.allocate(10 * room));
          std::fill_n(memory, 10 * room, std::byte{1});
          const std::size_t bytes = self.rank == 0 ? room : 2 * room;
          std::vector<coll::Block> blocks(2, {memory, bytes});
          if (with_gaps == self.rank) blocks[0].layout = blocks[1].layout = &gapped;
          blocks[1].address += 5 * room;
          std::byte& behind = blocks[1].address[(with_gaps == 0 ? 2 : 1) * room];
          if (self.rank == 0) behind = std::byte{7};
          const ErrorCode error_code = team->run(
              Collective::alltoallv, {.count = 0, .in_place = true, .out = blocks, .in = blocks});
          if (self.rank == 0)
            RANK_CHECK(error_code == ErrorCode::truncated && behind == std::byte{7});
          else
            RANK_CHECK(error_code == ErrorCode::none || error_code == ErrorCode::peer_error);
        });
        EXPECT_TRUE(endings.all(0)) << option << " " << room << " " << with_gaps << endings.output;
        EXPECT_NE(endings.output.find("rank 1 sends"), std::string::npos) << endings.output;
      }
}

struct Disagreement {
  const char* name;
  Collective collective[2];  // of rank 0 and of the others
  int root[2];
  std::size_t count[2];  // of floats
  const char* said[2];
};

constexpr Disagreement disagreements[] = {
    {"collective",
     {Collective::allreduce, Collective::bcast},
     {0, 0},
     {1, 1},
     {"MPI_Allreduce of 4 bytes", "MPI_Bcast, root 0 of 4 bytes"}},
    {"count",
     {Collective::allreduce, Collective::allreduce},
     {0, 0},
     {1, 2},
     {"MPI_Allreduce of 4 bytes", "MPI_Allreduce of 8 bytes"}},
    {"large_count",
     {Collective::allreduce, Collective::allreduce},
     {0, 0},
     {50'000, 50'001},
     {"MPI_Allreduce of 200000 bytes", "MPI_Allreduce of 200004 bytes"}},
    {"root",
     {Collective::bcast, Collective::bcast},
     {0, 1},
     {20'000, 20'000},
     {"MPI_Bcast, root 0 of 80000 bytes", "MPI_Bcast, root 1 of 80000 bytes"}},
    {"barrier",
     {Collective::barrier, Collective::allreduce},
     {0, 0},
     {0, 1},
     {"MPI_Barrier", "MPI_Allreduce of 4 bytes"}},
};

class Mismatch : public ::testing::TestWithParam<Disagreement> {};

TEST_P(Mismatch, IsNamed) {
  const Disagreement& what = GetParam();
  const auto endings = test::fork_ranks(
      3,
      [&](Rank& self) {
        const auto team = team_of(self, "cma,bounce");
        std::vector<float> send(100'000, 1.0f), recv(100'000);
        const std::size_t side = self.rank == 0 ? 0 : 1;
        ErrorCode error_code = ErrorCode::none;
        bool met = false;
        // Who met nothing may be ahead by as many calls as there are lines.
        for (int i = 0; i < 40 && error_code != ErrorCode::left; ++i) {
          error_code = team->run(what.collective[side],
                                 {.send = send.data(),
                                  .recv = recv.data(),
                                  .count = what.count[side],
                                  .element_bytes = 4,
                                  .kernel = reduce::find(reduce::Op::sum, reduce::Type::f32),
                                  .root = what.root[side]});
          met = met || error_code != ErrorCode::none;
        }
        RANK_CHECK(met && error_code == ErrorCode::left);
      },
      30);
  EXPECT_NE(endings.output.find("called different things"), std::string::npos) << endings.output;
  for (const char* said : what.said)
    EXPECT_NE(endings.output.find(said), std::string::npos) << said << " not in " << endings.output;
  EXPECT_TRUE(endings.all(0)) << endings.output;  // all have left, and none waited for ever
}

INSTANTIATE_TEST_SUITE_P(What, Mismatch, ::testing::ValuesIn(disagreements),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace tutti::engine
