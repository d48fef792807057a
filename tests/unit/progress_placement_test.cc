// SPDX-License-Identifier: BSD-3-Clause
// Where ranks and progress threads go, against the values of Denis et al. 2019.
#include "progress/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace tutti::progress {
namespace {

TEST(CoreLayout, SpreadsFreeCoresEvenly) {
  const CoreLayout two = lay_out({.cores = 64}, 2);
  EXPECT_EQ(two.communication, (std::vector{31, 63}));
  ASSERT_EQ(two.application.size(), 62u);
  EXPECT_EQ(two.application[30], 30);
  EXPECT_EQ(two.application[31], 32);
  // Figure 3: six ranks on eight cores in two domains, whose last cores are free.
  const CoreLayout small = lay_out({.cores = 8, .domains = 2}, 2);
  EXPECT_EQ(small.communication, (std::vector{3, 7}));
  EXPECT_EQ(small.application, (std::vector{0, 1, 2, 4, 5, 6}));
}

TEST(CoreLayout, EveryCoreHasOneUse) {
  for (const int domains : {1, 2, 4})
    for (int free = 0; free < 64; ++free) {
      const CoreLayout layout = lay_out({.cores = 64, .domains = domains}, free);
      std::vector<int> all = layout.application;
      all.insert(all.end(), layout.communication.begin(), layout.communication.end());
      std::sort(all.begin(), all.end());
      EXPECT_EQ(layout.communication.size(), static_cast<std::size_t>(free));
      ASSERT_EQ(all.size(), 64u);
      for (int core = 0; core < 64; ++core) EXPECT_EQ(all[static_cast<std::size_t>(core)], core);
    }
}

TEST(Numa, SharesTheNearestFreeCore) {
  const CoreLayout layout = lay_out({.cores = 64}, 2);
  for (int rank = 0; rank < 62; ++rank)
    EXPECT_EQ(place(Placement::numa, layout, rank), rank <= 30 ? 31 : 63) << rank;
  const CoreLayout domains = lay_out({.cores = 64, .domains = 2}, 2);
  for (int rank = 0; rank < 62; ++rank)
    EXPECT_EQ(place(Placement::numa, domains, rank), rank <= 30 ? 31 : 63) << rank;
}

// Equation 1 as it is printed.
TEST(Numa, IsEquation1) {
  for (int ranks = 1; ranks < 64; ++ranks)
    for (int position = 0; position < 64; ++position) {
      const double d = 64.0 / (64 - ranks);
      const double printed = std::ceil((std::floor(position / d + 1e-9) + 1) * d - 1e-9) - 1;
      EXPECT_EQ(numa(64, ranks, position), printed) << ranks << ' ' << position;
    }
}

TEST(Numa, AlwaysFindsACommunicationCoreOfTheDomain) {
  for (const int domains : {1, 2, 4})
    for (int free = domains; free < 64; ++free) {
      const CoreLayout layout = lay_out({.cores = 64, .domains = domains}, free);
      for (int rank = 0; rank < 64 - free; ++rank) {
        const int core = place(Placement::numa, layout, rank);
        EXPECT_TRUE(std::count(layout.communication.begin(), layout.communication.end(), core));
        EXPECT_EQ(core * domains / 64,
                  layout.application[static_cast<std::size_t>(rank)] * domains / 64);
      }
    }
}

TEST(Numa, IsBindWhereNoCoreIsFree) {
  const CoreLayout layout = lay_out({.cores = 8, .domains = 2}, 1);  // the second domain's
  EXPECT_EQ(layout.communication, (std::vector{7}));
  for (int rank = 0; rank < 7; ++rank)
    EXPECT_EQ(place(Placement::numa, layout, rank), rank < 4 ? rank : 7);
}

TEST(OddEven, TakesTurns) {
  const CoreLayout layout = lay_out({.cores = 64}, 2);
  for (int rank = 0; rank < 62; ++rank)
    EXPECT_EQ(place(Placement::odd_even, layout, rank), rank % 2 == 0 ? 31 : 63);
}

// Equation 2 as it is printed, where cores / free is a whole number.
TEST(OddEven, IsEquation2) {
  for (const int free : {1, 2, 4, 8, 16, 32})
    for (int rank = 0; rank < 64 - free; ++rank) {
      const int printed = 64 / free * (rank % free) + 64 / free - 1;
      EXPECT_EQ(odd_even(64, 64 - free, rank), printed);
      EXPECT_EQ(place(Placement::odd_even, lay_out({.cores = 64}, free), rank), printed);
    }
}

TEST(Bind, IsTheRanksCore) {
  const CoreLayout layout = lay_out({.cores = 64}, 2);
  EXPECT_EQ(place(Placement::bind, layout, 31), 32);
  EXPECT_EQ(place(Placement::odd_even, lay_out({.cores = 4}, 0), 2), 2);
}

}  // namespace
}  // namespace tutti::progress
