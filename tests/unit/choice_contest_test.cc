// SPDX-License-Identifier: BSD-3-Clause
// Who is found to be faster, on ranks that all see other times.
#include "choice/contest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

namespace tutti::choice {
namespace {

using Side = Contest::Side;

// What call number `call` takes on a rank, in ns.
using Cost = std::function<std::uint64_t(Side side, int rank, int call)>;

// Who did each of `calls` of a collective, by three ranks that agree as members of a team do.
std::vector<Side> play(Collective collective, int calls, const Cost& cost) {
  std::vector<Contest> ranks(3, Contest(collective));
  std::vector<Side> sides;
  for (int call = 0; call < calls; ++call) {
    if (ranks[0].is_due()) {
      Contest::Times agreed = ranks[0].times();
      for (const Contest& rank : ranks)
        for (std::size_t i = 0; i < agreed.size(); ++i)
          agreed[i] = rank.counts_least() ? std::min(agreed[i], rank.times()[i])
                                          : std::max(agreed[i], rank.times()[i]);
      for (Contest& rank : ranks) (void)rank.decide(agreed);
    }
    sides.push_back(ranks[0].next());
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      if (r > 0) {
        EXPECT_EQ(ranks[r].next(), sides.back()) << "call " << call;
      }
      const std::uint64_t ns = cost(sides.back(), static_cast<int>(r), call);
      if (ranks[r].is_timed()) ranks[r].took(ns);
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
  const auto late = [](Side side, int rank, int call) -> std::uint64_t {
    const std::uint64_t own = side == Side::mpi ? 1000 : 3000;
    return own + (rank == call % 3 ? 0 : 50'000 * static_cast<std::uint64_t>(call % 7));
  };
  EXPECT_EQ(play(Collective::allreduce, 200, late).back(), Side::mpi);
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

TEST(Contest, TheFirstCallOfARunDoesNotCount) {
  Side last = Side::tutti;
  const auto settling = [&](Side side, int rank, int) -> std::uint64_t {
    static Side before = Side::tutti;
    if (rank == 0) {
      before = last;
      last = side;
    }
    const std::uint64_t own = side == Side::mpi ? 1000 : 1500;
    return side != before ? own + 1'000'000 * (side == Side::mpi) : own;
  };
  EXPECT_EQ(play(Collective::scan, 200, settling).back(), Side::mpi);
}

// The turn is of the call that begins next on this thread, and of no other.
TEST(Contest, ATurnIsTimed) {
  Contest contest(Collective::barrier);
  const Contest::Times none{};
  (void)contest.next();
  EXPECT_FALSE(contest.is_timed());
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
