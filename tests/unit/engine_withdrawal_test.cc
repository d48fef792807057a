// SPDX-License-Identifier: BSD-3-Clause
// Once a call has failed its buffers are the program's again: nobody writes there any more, and
// nobody takes what the program puts there for what was sent.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <thread>

#include "support/teams.h"

namespace tutti::engine {
namespace {

using coll::Block;
using coll::Collective;
using test::Rank;

constexpr std::size_t bytes = std::size_t{2} << 20;

// Rank 0 has failed; the members then go on to here, in the order of these numbers.
struct Stage {
  std::atomic<int> reached{0};
  void wait_for(int number) const {
    while (reached.load() < number) ::usleep(1000);
  }
};

Stage& shared_stage() {
  void* memory =
      ::mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return *new (memory) Stage;
}

// Makes the call in one way or the other.
ErrorCode make(Team& team, Collective collective, const coll::Work& work, bool starts) {
  if (!starts) {
    coll::Work own = work;
    return team.run(collective, own);
  }
  const ErrorCode error_code = team.may_start(collective, work);
  if (error_code != ErrorCode::none) return error_code;
  Pending pending;
  pending.collective = collective;
  pending.work = work;
  team.start(pending);
  team.end_start();
  for (;;) {
    driver().drive();
    progress::OperationList finished = driver().finished();
    while (progress::Operation* operation = finished.pop()) {
      const ErrorCode outcome = team.finish(static_cast<Pending&>(*operation));
      driver().completed();
      return outcome;
    }
  }
}

std::byte* block_of(std::size_t size, int value) {
  auto* memory = static_cast<std::byte*>(test::heap.allocate(size));
  std::memset(memory, value, size);
  return memory;
}

bool holds(const std::byte* memory, std::size_t size, int value) {
  return std::all_of(memory, memory + size, [&](std::byte b) { return b == std::byte(value); });
}

class Withdrawal : public ::testing::TestWithParam<std::tuple<const char*, bool>> {};

// Rank 2 comes to a Gatherv when it has failed on rank 0. Rank 1 sends more than there is room for,
// or revokes the team instead: rank 0 then has only been told of an error.
void expect_no_late_write(const char* option, bool starts, bool revokes) {
  Stage& stage = shared_stage();
  const auto endings = test::fork_ranks(3, [&](Rank& self) {
    const auto team = test::team_of(self.world, test::join(self, option));
    std::byte* const in = block_of(3 * bytes, 0);
    const bool too_much = self.rank == 1 && !revokes;
    const std::vector<Block> out(1, {block_of(2 * bytes, 5), too_much ? 2 * bytes : bytes});
    std::vector<Block> room;
    for (std::size_t i = 0; self.rank == 0 && i < 3; ++i) room.push_back({in + i * bytes, bytes});
    if (self.rank == 2) stage.wait_for(1);
    if (self.rank == 1 && revokes) {
      team->revoke();
    } else {
      const ErrorCode error_code =
          make(*team, Collective::gatherv, {.out = out, .in = room}, starts);
      if (revokes)
        RANK_CHECK(error_code != ErrorCode::none);
      else
        RANK_CHECK(error_code == (self.rank == 0 ? ErrorCode::truncated : ErrorCode::none));
    }
    if (self.rank == 0) {
      std::memset(in, 9, 3 * bytes);
      stage.reached = 1;
    }
    test::meet(self);
    RANK_CHECK(self.rank != 0 || holds(in, 3 * bytes, 9));
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
}
TEST_P(Withdrawal, ALateSenderWritesNothing) {
  expect_no_late_write(std::get<0>(GetParam()), std::get<1>(GetParam()), false);
}
TEST_P(Withdrawal, ALateSenderWritesNothingToWhomWasTold) {
  expect_no_late_write(std::get<0>(GetParam()), std::get<1>(GetParam()), true);
}

// Rank 0 meets an error, and sends something else from its buffer afterwards. Rank 2 comes
// then. It was to receive what had been there.
TEST_P(Withdrawal, ALateReceiverTakesNothing) {
  const auto [option, starts] = GetParam();
  Stage& stage = shared_stage();
  const auto endings = test::fork_ranks(3, [&, option = option, starts = starts](Rank& self) {
    const auto team = test::team_of(self.world, test::join(self, option));
    const std::vector<Block> out(1, {block_of(bytes, 5), self.rank == 2 ? 8 : bytes});
    std::byte* const in = block_of(3 * bytes, 0);
    std::vector<Block> room;
    for (std::size_t i = 0; i < 3; ++i) room.push_back({in + i * bytes, bytes});
    if (self.rank == 0) room[1].bytes = 8;
    if (self.rank == 2) stage.wait_for(1);
    const ErrorCode error_code =
        make(*team, Collective::allgatherv, {.count = 0, .out = out, .in = room}, starts);
    if (self.rank == 0) {
      RANK_CHECK(error_code == ErrorCode::truncated);
      std::memset(out[0].address, 9, bytes);
      stage.reached = 1;
    } else {
      RANK_CHECK(error_code == ErrorCode::peer_error);
    }
    test::meet(self);
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
}

// Another thread of rank 0 revokes the team while rank 0 copies from the others. Nobody may take
// the call for successful without what rank 0 was to copy.
TEST_P(Withdrawal, WhatARevokedRankLeavesOutIsNotReported) {
  const auto [option, starts] = GetParam();
  constexpr std::size_t much = std::size_t{64} << 20;
  for (const int after_us : {2000, 8000, 16000}) {
    const auto endings = test::fork_ranks(3, [&, option = option, starts = starts](Rank& self) {
      const auto team = test::team_of(self.world, test::join(self, option));
      const std::byte* const out = block_of(much, self.rank + 1);
      std::byte* const in = block_of(much, 0);
      test::meet(self);
      std::thread revoking;
      if (self.rank == 0)
        revoking = std::thread([&] {
          ::usleep(static_cast<useconds_t>(after_us));
          team->revoke();
        });
      const ErrorCode error_code = make(*team, Collective::allreduce,
                                        {.send = out,
                                         .recv = in,
                                         .count = much,
                                         .kernel = reduce::find(reduce::Op::sum, reduce::Type::u8)},
                                        starts);
      if (revoking.joinable()) revoking.join();
      RANK_CHECK(error_code != ErrorCode::none || holds(in, much, 6));
      test::meet(self);
    });
    EXPECT_TRUE(endings.all(0)) << endings.output;
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, Withdrawal,
                         ::testing::Combine(::testing::Values("commons,cma,bounce", "cma,bounce"),
                                            ::testing::Bool()),
                         [](const auto& row) {
                           const bool copied = std::get<0>(row.param)[1] == 'm';
                           return std::string(copied ? "copied" : "mapped") +
                                  (std::get<1>(row.param) ? "_started" : "");
                         });

}  // namespace
}  // namespace tutti::engine
