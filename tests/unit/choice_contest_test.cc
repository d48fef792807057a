// SPDX-License-Identifier: BSD-3-Clause
// Who is found to be faster, on ranks that all see other times.
#include "choice/contest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace tutti::choice {
namespace {

using Side = Contest::Side;

// What call number `call` takes on a rank, in ns.
using Cost = std::function<std::uint64_t(Side side, int rank, int call)>;
// How long a rank was away before it.
using Away = std::function<std::uint64_t(int rank, int call)>;

enum class Cores : std::uint8_t { each_its_own, shared };

// Who did each of `calls` of a collective, by three ranks that agree as members of a team do: then
// they `meet`.
std::vector<Side> play(
    Collective collective, int calls, const Cost& cost, Cores cores = Cores::each_its_own,
    const std::function<void()>& meet = {},
    const Away& away = [](int, int) { return std::uint64_t{0}; }) {
  std::vector<Contest> ranks(3, Contest(collective, cores == Cores::shared));
  std::vector<std::int64_t> clocks(ranks.size());
  std::vector<Side> sides;
  for (int call = 0; call < calls; ++call) {
    if (ranks[0].is_due()) {
      Contest::Times agreed = ranks[0].times();
      for (const Contest& rank : ranks)
        for (std::size_t i = 0; i < agreed.size(); ++i)
          agreed[i] = rank.counts_least() ? std::min(agreed[i], rank.times()[i])
                                          : std::max(agreed[i], rank.times()[i]);
      for (Contest& rank : ranks) (void)rank.decide(agreed);
      if (meet) meet();
    }
    sides.push_back(ranks[0].next());
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      if (r > 0) {
        EXPECT_EQ(ranks[r].next(), sides.back()) << "call " << call;
      }
      const int rank = static_cast<int>(r);
      const std::int64_t began = clocks[r] + static_cast<std::int64_t>(away(rank, call));
      clocks[r] = began + static_cast<std::int64_t>(cost(sides.back(), rank, call));
      if (ranks[r].is_timed()) ranks[r].took(began, clocks[r]);
    }
  }
  return sides;
}

long count(const std::vector<Side>& sides, Side side) {
  return std::count(sides.begin(), sides.end(), side);
}

Cost fixed(std::uint64_t mpi, std::uint64_t tutti) {
  return [=](Side side, int, int) { return side == Side::mpi ? mpi : tutti; };
}

TEST(Contest, ASlowMpiCostsOneRunOfCalls) {
  const auto sides = play(Collective::barrier, 5000, fixed(25'000, 1000));
  EXPECT_EQ(sides[0], Side::mpi);
  EXPECT_EQ(count(sides, Side::mpi), 4);
}

TEST(Contest, AFastMpiIsLeftTheCalls) {
  const auto sides = play(Collective::barrier, 5000, fixed(1000, 5000));
  EXPECT_EQ(count(sides, Side::tutti), 4);
  EXPECT_EQ(sides.back(), Side::mpi);
}

TEST(Contest, OfCallsOfAMinute) {
  constexpr std::uint64_t second = 1'000'000'000;
  EXPECT_EQ(play(Collective::alltoall, 200, fixed(60 * second, 35 * second)).back(), Side::tutti);
  EXPECT_EQ(play(Collective::alltoall, 200, fixed(35 * second, 60 * second)).back(), Side::mpi);
}

TEST(Contest, ACloseResultNeedsLongRuns) {
  const auto mpi = play(Collective::bcast, 5000, fixed(1000, 1100));
  EXPECT_EQ(count(mpi, Side::tutti), 4 + 5 * 16);
  EXPECT_EQ(mpi.back(), Side::mpi);
  const auto tutti = play(Collective::bcast, 5000, fixed(1100, 1000));
  EXPECT_EQ(count(tutti, Side::mpi), 4 + 5 * 16);
  EXPECT_EQ(tutti.back(), Side::tutti);
  // Tutti has to be worth it.
  EXPECT_EQ(play(Collective::bcast, 5000, fixed(1000, 990)).back(), Side::mpi);
}

TEST(Contest, ItIsRepeatedMoreAndMoreRarely) {
  bool mpi_is_slow = true;
  const auto change = [&](Side side, int, int call) -> std::uint64_t {
    mpi_is_slow = call < 1000;
    return side == Side::mpi && mpi_is_slow ? 9000 : side == Side::mpi ? 500 : 2000;
  };
  const auto sides = play(Collective::allreduce, 100'000, change);
  EXPECT_EQ(sides[4900], Side::tutti);
  EXPECT_EQ(sides[5100], Side::mpi);
  EXPECT_LE(count(sides, Side::tutti), 5100);
}

TEST(Contest, WhatIsOnceFoundIsOnlyChangedForMuch) {
  for (const std::uint64_t later : {700, 500}) {
    const auto sides = play(Collective::barrier, 10'000, [&](Side side, int, int call) {
      return side == Side::mpi ? std::uint64_t{800} : call < 5000 ? std::uint64_t{1000} : later;
    });
    EXPECT_EQ(sides[4900], Side::mpi);
    EXPECT_EQ(sides.back(), later < 600 ? Side::tutti : Side::mpi);
  }
}

// A rank that comes late makes the others wait, now in a call of the one side, now of the other.
TEST(Contest, WaitsForTheProgramDoNotCountWhereAllWaitForAll) {
  const auto lateness = [](int rank, int call) -> std::uint64_t {
    return rank == call % 3 ? 50'000 * static_cast<std::uint64_t>(call % 7) : 0;
  };
  const auto late = [&](Side side, int rank, int call) -> std::uint64_t {
    const std::uint64_t own = side == Side::mpi ? 1000 : 3000;
    return own + (rank == call % 3 ? 0 : lateness(call % 3, call));
  };
  const auto sides = play(Collective::allreduce, 200, late, Cores::each_its_own, {}, lateness);
  EXPECT_EQ(sides.back(), Side::mpi);
}

// Each of Tutti's calls keeps another member for 600 ns longer, so the others wait for it in the
// next one. It itself is in that for 1000 ns only, but in a loop each call takes 1600.
TEST(Contest, ACallThatKeepsOneMemberCountsInFull) {
  std::array<std::uint64_t, 3> clocks{};
  const auto away = [](int rank, int call) -> std::uint64_t {
    return (static_cast<std::uint64_t>(rank) * 7 + static_cast<std::uint64_t>(call) * 5) % 11;
  };
  std::uint64_t all_have_come = 0;
  const auto cost = [&](Side side, int rank, int call) -> std::uint64_t {
    if (rank == 0) {
      for (int each = 0; each < 3; ++each)
        clocks[static_cast<std::size_t>(each)] += away(each, call);
      all_have_come = *std::ranges::max_element(clocks);
    }
    std::uint64_t& clock = clocks[static_cast<std::size_t>(rank)];
    const std::uint64_t kept = rank == call % 3 ? 600 : 0;
    const std::uint64_t end = all_have_come + (side == Side::mpi ? 1300 : 1000 + kept);
    return end - std::exchange(clock, end);
  };
  EXPECT_EQ(play(Collective::barrier, 200, cost, Cores::each_its_own, {}, away).back(), Side::mpi);
}

// Ranks that run ahead wait once, for many calls.
TEST(Contest, CallsThatOverlapCountTogether) {
  const auto bursts = [](Side side, int rank, int call) -> std::uint64_t {
    if (side == Side::tutti) return 1000;
    return call % 3 == rank ? 1800 : 10;  // the slowest takes 1800 in each, and 600 on the whole
  };
  EXPECT_EQ(play(Collective::scan, 200, bursts).back(), Side::mpi);
}

// A root that hands over its data and goes says nothing of when the others have it.
TEST(Contest, WhereARankIsDoneEarlyTheSlowestCounts) {
  const auto root_leaves = [](Side side, int rank, int) -> std::uint64_t {
    if (side == Side::tutti) return 2000;
    return rank == 0 ? 100 : 9000;
  };
  EXPECT_EQ(play(Collective::bcast, 200, root_leaves).back(), Side::tutti);
}

// Of calls that count one by one, and in a short run of those that count together.
TEST(Contest, TheFirstCallOfARunDoesNotCount) {
  for (const Collective collective : {Collective::allgather, Collective::scan}) {
    Contest contest(collective, false);
    for (int side = 0; side < 2; ++side)
      for (int call = 0; call < 4; ++call) {
        (void)contest.next();
        const Contest::Times before = contest.times();
        if (contest.is_timed()) contest.took(0, 1000);
        EXPECT_EQ(contest.times() == before, call == 0);
        EXPECT_EQ(contest.is_due(), call == 3);
        if (contest.is_due()) {
          EXPECT_FALSE(contest.decide(Contest::Times(contest.times())));
        }
      }
    (void)contest.next();
    const Contest::Times none = contest.times();
    if (contest.is_timed()) contest.took(0, 1000);
    EXPECT_EQ(contest.times() != none, collective == Collective::scan);
  }
}

// The MPI's messages of many calls fit into buffers. So a rank waits in the first one, and has the
// rest at once.
TEST(Contest, WhatAllCallsWaitForInTheFirstCounts) {
  for (const Collective collective : {Collective::bcast, Collective::alltoall}) {
    int in_a_row = 0;
    const auto buffered = [&](Side side, int rank, int) -> std::uint64_t {
      if (rank == 0) in_a_row = side == Side::mpi ? in_a_row + 1 : 0;
      return side == Side::tutti ? 12'000 : in_a_row == 1 ? 1'000'000 : 1000;
    };
    EXPECT_EQ(play(collective, 200, buffered, Cores::shared).back(), Side::tutti);
  }
}

// Its first call does not count, and here the first long run has no such wait.
TEST(Contest, AShortRunOfCallsThatCountTogetherSaysNothingForTheMpi) {
  int of_the_mpi = 0;
  const auto buffered = [&](Side side, int rank, int) -> std::uint64_t {
    if (side == Side::tutti) return 12'000;
    of_the_mpi += rank == 0;
    return of_the_mpi > 20 && of_the_mpi % 16 == 5 ? 1'000'000 : 1000;
  };
  EXPECT_EQ(play(Collective::scatter, 200, buffered).back(), Side::tutti);
}

// Tutti's, in which a rank lost its core.
TEST(Contest, OneLongCallDoesNotEndAContest) {
  for (const auto& [cores, at] :
       {std::pair{Cores::shared, 30}, {Cores::each_its_own, 6}, {Cores::each_its_own, 30}}) {
    const auto interrupted = [at = at](Side side, int, int call) -> std::uint64_t {
      return side == Side::mpi ? 5000 : call == at ? 400'000 : 2000;
    };
    const auto sides = play(Collective::alltoall, 200, interrupted, cores);
    EXPECT_EQ(sides[static_cast<std::size_t>(at)], Side::tutti);
    EXPECT_EQ(sides.back(), Side::tutti);
  }
}

// The root is done with the MPI's calls long before the others. What it waits for them then is not
// what Tutti's calls take.
TEST(Contest, NoneIsLeftBehindInTheOtherSidesCalls) {
  std::array<std::uint64_t, 3> clocks{};
  const auto latest = [&] { return *std::ranges::max_element(clocks); };
  std::uint64_t end_of_all = 0;  // of a call of Tutti's
  const auto cost = [&](Side side, int rank, int) -> std::uint64_t {
    if (rank == 0) end_of_all = latest() + 2000;
    std::uint64_t& clock = clocks[static_cast<std::size_t>(rank)];
    const std::uint64_t end = side == Side::tutti ? end_of_all : clock + (rank == 0 ? 100 : 3000);
    return end - std::exchange(clock, end);
  };
  const auto meet = [&] { clocks.fill(latest()); };
  EXPECT_EQ(play(Collective::bcast, 200, cost, Cores::each_its_own, meet).back(), Side::tutti);
}

// Every 40th call of the MPI waits for a time slice, which runs of 16 do not show.
TEST(Contest, AWinnerThatIsSlowAtLengthLosesTheCalls) {
  for (const Collective collective : {Collective::bcast, Collective::allreduce}) {
    int of_the_mpi = 0;
    const auto slow = [&](Side side, int rank, int) -> std::uint64_t {
      if (side == Side::tutti) return 4000;
      of_the_mpi += rank == 0;
      return of_the_mpi % 40 == 39 ? 1'000'000 : 900;
    };
    const auto sides = play(collective, 5000, slow, Cores::shared);
    EXPECT_EQ(sides[8 + 4 * 16], Side::mpi);
    EXPECT_EQ(sides.back(), Side::tutti);
    // Three rounds, the calls that are watched, and a round of as many.
    EXPECT_EQ(count(sides, Side::mpi), 4 + 2 * 16 + 64 + 64);
  }
}

// Only in the second watch.
TEST(Contest, AWinnerThatSlowsDownLosesTheCalls) {
  int of_the_mpi = 0;
  const auto slower = [&](Side side, int rank, int) -> std::uint64_t {
    if (side == Side::tutti) return 4000;
    of_the_mpi += rank == 0;
    return of_the_mpi > 4 + 2 * 16 + 64 ? 10'000 : 900;
  };
  const auto sides = play(Collective::bcast, 5000, slower);
  EXPECT_EQ(count(sides, Side::mpi), 4 + 2 * 16 + 64 + 256 + 256);
  EXPECT_EQ(sides.back(), Side::tutti);
}

// Tutti, too. The next contest comes as late as if there had been none between, and is a usual one.
TEST(Contest, ASideIsNotKeptLongerForAContestThatAWatchCalled) {
  int of_tutti = 0;
  const auto slower = [&](Side side, int rank, int) -> std::uint64_t {
    if (side == Side::mpi) return 4000;
    of_tutti += rank == 0;
    return of_tutti > 4 + 16 ? 10'000 : 900;
  };
  const auto sides = play(Collective::bcast, 6000, slower);
  const std::size_t again = 2 * (4 + 16 + 64) + 64 + 5000;
  EXPECT_EQ(std::count(sides.begin(), sides.begin() + again, Side::tutti), 4 + 16 + 64 + 64);
  for (const auto& [at, side] : {std::pair{std::size_t{0}, Side::mpi},
                                 {4, Side::tutti},
                                 {8, Side::mpi},
                                 {8 + 16, Side::tutti},
                                 {8 + 32, Side::mpi}})
    EXPECT_EQ(sides[again + at], side) << at;
}

// The other side is asked again, and is no faster.
TEST(Contest, AWinnerThatIsInterruptedKeepsTheCalls) {
  int of_the_mpi = 0;
  const auto interrupted = [&](Side side, int rank, int) -> std::uint64_t {
    if (side == Side::tutti) return 4500;
    of_the_mpi += rank == 0;
    return of_the_mpi == 4 + 2 * 16 + 5 ? 10'000'000 : 1000;
  };
  const auto sides = play(Collective::scatter, 5000, interrupted);
  EXPECT_EQ(count(sides, Side::tutti), 4 + 2 * 16 + 2 * 64);
  EXPECT_EQ(sides.back(), Side::mpi);
}

// A program that comes late in all calls but the first: those of both sides take as long then.
TEST(Contest, WaitsForTheProgramAreOfBothSides) {
  const auto late = [](Side side, int, int call) -> std::uint64_t {
    return (side == Side::mpi ? 1000 : 11'000) + (call < 4 + 4 + 4 * 16 ? 0 : 100'000);
  };
  const auto sides = play(Collective::gather, 5000, late);
  EXPECT_EQ(count(sides, Side::tutti), 4 + 2 * 16 + 5 * 64);
  EXPECT_EQ(sides.back(), Side::mpi);
}

// The turn is of the call that begins next on this thread, and of no other.
TEST(Contest, ATurnIsTimed) {
  Contest contest(Collective::barrier, false);
  const Contest::Times none{};
  (void)contest.next();
  Turn::give(contest);
  EXPECT_EQ(Turn().ends(0), 0);  // the first call does not count
  EXPECT_EQ(contest.times(), none);
  (void)contest.next();  // the first of the MPI's calls that counts
  EXPECT_TRUE(contest.is_timed());
  EXPECT_EQ(Turn().ends(0), 0);
  EXPECT_EQ(contest.times(), none);
  Turn::give(contest);
  EXPECT_EQ(Turn().ends(5), 5);  // failed, so nothing is written
  EXPECT_EQ(contest.times(), none);
  Turn::give(contest);
  EXPECT_EQ(Turn().ends(0), 0);
  const Contest::Times timed = contest.times();
  EXPECT_NE(timed, none);
  EXPECT_EQ(Turn().ends(0), 0);
  EXPECT_EQ(contest.times(), timed);
}

}  // namespace
}  // namespace tutti::choice
