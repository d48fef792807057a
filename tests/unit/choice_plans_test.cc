// SPDX-License-Identifier: BSD-3-Clause
// What is chosen on machines that are not here.

#include "choice/plans.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "choice/measure.h"
#include "coll/plans.h"
#include "coll/reduce/costs.h"
#include "lab/timed.h"

namespace tutti::choice {
namespace {

using lab::TimedFabric;

std::vector<Algorithm> table_of(Collective collective, bool late = false) {
  return coll::algorithms_of<TimedFabric>(collective, late);
}

std::string chosen(Collective collective, int ranks, std::size_t bytes, const Costs& costs,
                   const char* forced = nullptr) {
  const auto table = table_of(collective);
  const int place = forced == nullptr ? nobody : place_of(table, forced);
  const int at = make_ladder(table, ranks, costs, place).at(bytes);
  return table[static_cast<std::size_t>(at)].name;
}

// The machine that most was measured on.
TEST(Plans, OnAnEpyc) {
  for (const int ranks : {2, 3, 4, 8}) {
    for (const auto collective : {Collective::bcast, Collective::reduce, Collective::allreduce,
                                  Collective::reduce_scatter, Collective::scan}) {
      EXPECT_EQ(chosen(collective, ranks, 0, usual), "line");
      EXPECT_EQ(chosen(collective, ranks, segment::payload_bytes, usual), "line");
      EXPECT_EQ(chosen(collective, ranks, segment::payload_bytes + 1, usual), "staged");
      EXPECT_EQ(chosen(collective, ranks, limits::shared_bytes - 1, usual), "staged");
      EXPECT_EQ(chosen(collective, ranks, 4 * limits::shared_bytes, usual), "direct")
          << name_of(collective) << " " << ranks;
      EXPECT_EQ(chosen(collective, ranks, std::size_t{1} << 40, usual), "direct");
    }
  }
  EXPECT_EQ(chosen(Collective::bcast, 2, 12 * limits::kib, usual), "direct");
  EXPECT_EQ(chosen(Collective::allreduce, 2, limits::shared_bytes, usual), "direct");
  EXPECT_EQ(chosen(Collective::barrier, 2, 0, usual), "flat");
  EXPECT_EQ(chosen(Collective::barrier, 64, 0, usual), "dissemination");
}

TEST(Plans, OfManyRanksLargeMessagesGoDirectly) {
  for (const int ranks : {64, 128, 1024}) {
    EXPECT_EQ(chosen(Collective::allreduce, ranks, 1 << 20, usual), "direct") << ranks;
    EXPECT_EQ(chosen(Collective::reduce, ranks, 1 << 20, usual), "direct") << ranks;
    EXPECT_EQ(chosen(Collective::bcast, ranks, 16 << 20, usual), "direct") << ranks;
  }
}

// Where ranks share cores, a step more takes as long as copying many KiB.
TEST(Plans, WhereRanksShareCoresFewerStepsCountMore) {
  for (const int ranks : {2, 3}) {
    const Costs shared = on_shared_cores(usual, ranks);
    for (const auto collective : {Collective::bcast, Collective::reduce, Collective::allreduce,
                                  Collective::reduce_scatter, Collective::scan}) {
      EXPECT_EQ(chosen(collective, ranks, segment::payload_bytes, shared), "line");
      EXPECT_EQ(chosen(collective, ranks, limits::shared_bytes, shared), "staged")
          << name_of(collective) << " " << ranks;
      EXPECT_EQ(chosen(collective, ranks, 64 * limits::kib, shared), "direct")
          << name_of(collective) << " " << ranks;
    }
  }
  const Costs two = on_shared_cores(usual, 2);
  EXPECT_EQ(chosen(Collective::barrier, 16, 0, two), "flat");
  EXPECT_EQ(least_direct_bytes(two), 2 * limits::shared_bytes);
  EXPECT_EQ(on_shared_cores(usual, 1).turn_ns(), 0);
}

// To read all operands whole is the shorter way for few bytes of few members.
TEST(Plans, OfManyMembersEveryoneFoldsASlice) {
  using coll::reduction::everyone;
  const auto is_whole = [](int ranks, std::size_t bytes, const Costs& costs, int root = everyone) {
    return coll::reduction::is_whole({ranks, bytes}, costs, root);
  };
  for (const int ranks : {2, 3, 4, 8, 64, 1024}) {
    EXPECT_TRUE(is_whole(ranks, segment::payload_bytes, usual)) << ranks;
    EXPECT_FALSE(is_whole(ranks, limits::shared_bytes, usual)) << ranks;
  }
  EXPECT_TRUE(is_whole(2, 4 * limits::kib, usual));
  EXPECT_FALSE(is_whole(8, 2 * limits::kib, usual));
  EXPECT_TRUE(is_whole(8, 2 * limits::kib, on_shared_cores(usual, 4)));
  EXPECT_TRUE(is_whole(2, 1 << 20, usual, 0));
  // The root alone would fold it.
  EXPECT_FALSE(is_whole(128, 8 * limits::kib, on_shared_cores(usual, 2), 0));
  EXPECT_FALSE(is_whole(64, 2 * limits::kib, usual, 0));
  // Of 8 KiB everyone would read half a MiB, or 2 MiB.
  constexpr std::size_t bytes = limits::shared_bytes - 1;
  for (const int ranks : {64, 256}) {
    const Facts facts{ranks, bytes};
    EXPECT_LT(4 * coll::reduction::staged_ns<everyone>(facts, usual),
              coll::reduction::whole_ns(facts, usual, everyone));
  }
}

TEST(Plans, WhereAFlagTakesLongLargerMessagesGoThroughTheSegment) {
  Costs far = usual;
  far.flag_ns = 800;
  EXPECT_EQ(chosen(Collective::allreduce, 2, limits::shared_bytes, far), "staged");
  EXPECT_EQ(chosen(Collective::allreduce, 2, std::size_t{1} << 20, far), "direct");
}

TEST(Plans, WhereASecondLineTakesLongerThanASlotPayloadsLeaveTheFlag) {
  Costs costs = usual;
  costs.line_ns = 3 * costs.flag_ns;
  EXPECT_EQ(chosen(Collective::allreduce, 2, first_line_bytes, costs), "line");
  EXPECT_EQ(chosen(Collective::allreduce, 2, first_line_bytes + 1, costs), "staged");
}

// As two ranks measured them on cores far from each other. There 64 bytes take 1.4 times as long
// through a slot as in the flag's two lines.
TEST(Plans, PayloadsStayInTheFlagWhereASlotsFirstLineTakesLongerThanItsSecondLine) {
  const Costs far{.flag_ns = 272,
                  .line_ns = 119,
                  .left_ns = 473,
                  .handed_back_ns = 217,
                  .short_ns = 568,
                  .reserved_ns = 442,
                  .copy_ns = 195};
  for (const Collective collective : {Collective::bcast, Collective::reduce, Collective::allreduce,
                                      Collective::reduce_scatter_block})
    for (const std::size_t bytes : {64, 112})
      EXPECT_EQ(chosen(collective, 2, bytes, far), "line") << name_of(collective) << bytes;
}

TEST(Plans, SendersPackLargerBlocksWhereCopiesGainLess) {
  Costs costs = usual;
  costs.left_ns = costs.handed_back_ns = 200;
  const std::size_t slow_slots = least_direct_bytes(costs);
  costs.left_ns = costs.copy_ns + 5;
  const std::size_t fast_slots = least_direct_bytes(costs);
  costs.left_ns = costs.copy_ns;  // nothing is gained
  EXPECT_LT(slow_slots, fast_slots);
  EXPECT_EQ(least_direct_bytes(costs), limits::shared_bytes);
}

TEST(Plans, AnAlgorithmThatIsForcedIsTakenWhereItCanBe) {
  EXPECT_EQ(chosen(Collective::allreduce, 2, 1 << 20, usual, "staged"), "staged");
  EXPECT_EQ(chosen(Collective::allreduce, 2, 8, usual, "direct"), "direct");
  EXPECT_EQ(chosen(Collective::allreduce, 2, 8, usual, "line"), "line");
  EXPECT_EQ(chosen(Collective::allreduce, 2, 1 << 20, usual, "line"), "direct");
  EXPECT_EQ(chosen(Collective::allreduce, 2, 8, usual, "no such"), "line");
}

TEST(Plans, WhatOneRankForcesHoldsForAll) {
  Forced mine{}, theirs{};
  mine[0] = 1;
  theirs[0] = 2;
  theirs[1] = 2;
  const Forced both = merge(mine, theirs);
  EXPECT_EQ(both[0], 1);
  EXPECT_EQ(both[1], 2);
  EXPECT_EQ(both[2], 0);
}

// A place among both tables, by whose name either is looked through.
TEST(Plans, ForcedPlansAreThoseOfTheName) {
  constexpr auto allreduce = static_cast<std::size_t>(Collective::allreduce);
  const auto all = coll::all_algorithms<TimedFabric>(Collective::allreduce);
  const auto name_at = [&](const Plans& plans, bool late) {
    const int place = plans.tables[Plans::table_of(Collective::allreduce, late)].at(1 << 20);
    return std::string(table_of(Collective::allreduce, late)[static_cast<std::size_t>(place)].name);
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    Forced forced{};
    forced[allreduce] = static_cast<std::uint8_t>(i + 1);
    const Plans plans = coll::make_plans<TimedFabric>(2, usual, forced);
    const std::string name = all[i].name;
    EXPECT_EQ(name_at(plans, false), name == "staged" ? "staged" : "direct");
    EXPECT_EQ(name_at(plans, true), name == "gathered" ? "gathered" : "direct");
  }
}

TEST(Plans, ALadderWithMoreRungsThanItHolds) {
  Ladder ladder;
  for (int i = 0; i < 2 * Ladder::most_rungs; ++i) ladder.add(static_cast<std::size_t>(i), i);
  ladder.add(~std::size_t{0}, 2 * Ladder::most_rungs);
  EXPECT_EQ(ladder.at(0), 0);
  EXPECT_EQ(ladder.at(Ladder::most_rungs - 2), Ladder::most_rungs - 2);
  // What fits larger sizes fits smaller ones, too.
  EXPECT_EQ(ladder.at(Ladder::most_rungs - 1), 2 * Ladder::most_rungs);
}

TEST(Plans, ACollectiveThatComputesNothingHasNoLateAlgorithm) {
  EXPECT_TRUE(table_of(Collective::bcast, true).empty());
  EXPECT_EQ(make_ladder({}, 2, usual).at(8), nobody);
}

// Whatever the machine, what is taken meets its needs, and by its estimate no other takes much less
// time. (Between two sizes that are looked at lies an eighth of an octave.)
TEST(Plans, OnAnyMachine) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(0, 3);
  const auto draw = [&] { return std::pow(10, exponent(random)); };
  for (int machine = 0; machine < 200; ++machine) {
    Costs costs{.flag_ns = draw(),
                .line_ns = draw(),
                .left_ns = draw(),
                .handed_back_ns = draw(),
                .copy_ns = draw()};
    costs.copy_ns = std::min({costs.copy_ns, costs.left_ns, costs.handed_back_ns});
    costs.switch_ns = 10 * draw();
    ASSERT_TRUE(are_plausible(costs));
    costs = on_shared_cores(costs, 1 + machine % 4);
    costs.direct_bytes = least_direct_bytes(costs);
    const int ranks = 2 + static_cast<int>(random() % 200);
    for (int c = 0; c < collective_count; ++c) {
      for (const bool late : {false, true}) {
        const auto table = table_of(static_cast<Collective>(c), late);
        if (table.empty()) continue;
        const Ladder ladder = make_ladder(table, ranks, costs);
        // What is large enough goes from buffer to buffer: through the segment it is copied twice.
        const int direct = place_of(table, "direct");
        ASSERT_TRUE(direct == nobody || ladder.at(std::size_t{1} << 30) == direct);
        for (std::size_t bytes = 0; bytes < std::size_t{1} << 26; bytes += 1 + bytes / 7) {
          const Facts facts{ranks, bytes};
          const auto& taken = table[static_cast<std::size_t>(ladder.at(bytes))];
          ASSERT_TRUE(taken.fits(facts)) << taken.name << " " << bytes;
          for (const Algorithm& other : table) {
            if (other.fits(facts)) {
              ASSERT_LE(taken.cost(facts, costs), 1.2 * other.cost(facts, costs))
                  << taken.name << " and not " << other.name << ", " << bytes << " bytes";
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace tutti::choice
