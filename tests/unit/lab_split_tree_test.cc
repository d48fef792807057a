// SPDX-License-Identifier: BSD-3-Clause
// The model against the paper's own values, which are for 64 cores, and against counting.
#include <gtest/gtest.h>

#include <bit>
#include <climits>
#include <cmath>
#include <numeric>
#include <vector>

#include "lab/model.h"

namespace tutti::lab::model {
namespace {

constexpr int paper_cores = 64;
constexpr Buffers both[] = {Buffers::constant, Buffers::growing};

// The messages of each level, level 1 first: rank r sends to r without its lowest bit, on the
// level of that bit.
std::vector<int> counted(int ranks) {
  std::vector<int> messages(static_cast<std::size_t>(height(ranks)));
  for (int rank = 1; rank < ranks; ++rank)
    ++messages.at(static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(rank))));
  return messages;
}

TEST(SplitTree, MessagesAreThoseOfABinomialTree) {
  for (int ranks = 1; ranks <= 4096; ++ranks) {
    const std::vector<int> messages = counted(ranks);
    for (int level = 1; level <= height(ranks); ++level)
      ASSERT_EQ(level_messages(ranks, level), messages[static_cast<std::size_t>(level) - 1])
          << ranks << " ranks, level " << level;
    ASSERT_EQ(std::accumulate(messages.begin(), messages.end(), 0), ranks - 1);
  }
}

// Figure 11 has 23 ranks.
TEST(SplitTree, LevelsOfTwentyThree) {
  EXPECT_EQ(height(23), 5);
  EXPECT_EQ(counted(23), (std::vector<int>{11, 6, 3, 1, 1}));
}

// Section 6.1: 16 ranks on one communication core take 15 steps instead of 4; on two, 8.
TEST(SplitTree, SixteenRanksFolded) {
  EXPECT_EQ(blocking_time(16, Buffers::constant), 4);
  EXPECT_EQ(nonblocking_time(16, 17, 0, Buffers::constant), 15);
  EXPECT_EQ(nonblocking_time(16, 17, 1, Buffers::constant), 8);
  EXPECT_EQ(nonblocking_time(16, 18, 0, Buffers::constant), 8);
  EXPECT_EQ(nonblocking_time(16, 18, 2, Buffers::constant), 4);  // Figure 10
}

TEST(SplitTree, LeastTimeOfThePaper) {
  const double least = overlapped_time(51, paper_cores, 0, Buffers::constant);
  EXPECT_NEAR(least, 64 * 6 / 51., 1e-12);  // all of the collective is hidden
  for (int ranks = 1; ranks < paper_cores; ++ranks)
    for (int levels = 0; levels <= height(ranks); ++levels) {
      if (ranks == 51 && levels == 0) continue;
      EXPECT_GT(overlapped_time(ranks, paper_cores, levels, Buffers::constant), least)
          << ranks << " ranks, S = " << levels;
    }
}

TEST(SplitTree, BestLevelsOfThePaper) {
  for (int ranks = 1; ranks < paper_cores; ++ranks) {
    const int levels = ranks <= 51 ? 0 : ranks <= 57 ? 1 : ranks <= 61 ? 2 : 3;
    EXPECT_EQ(best_levels(ranks, paper_cores, Buffers::constant), levels) << ranks << " ranks";
  }
}

// Equation 9 by hand: 60 ranks, levels of 30, 15, 8, 4, 2 and 1 messages on 4 cores, of which two
// are split off. The other four take 2, 1, 1 and 1 turns of weights 4, 8, 16 and 32.
TEST(SplitTree, GrowingBuffersByHand) {
  EXPECT_EQ(blocking_time(60, Buffers::growing), 63);
  EXPECT_EQ(nonblocking_time(60, paper_cores, 2, Buffers::growing), 3 + 8 + 8 + 16 + 32);
  const double computation = 63. * 64 / 60;
  EXPECT_NEAR(computation_time(60, paper_cores, Buffers::growing), computation, 1e-12);
  EXPECT_NEAR(overlapped_time(60, paper_cores, 2, Buffers::growing), 3 + computation, 1e-12);
  EXPECT_EQ(best_levels(60, paper_cores, Buffers::growing), 2);
}

TEST(SplitTree, BestLevelsAreTheFewestOfTheLeastTime) {
  for (const Buffers buffers : both)
    for (const int cores : {2, 3, 48, 64, 257})
      for (int ranks = 1; ranks < cores; ++ranks) {
        const int best = best_levels(ranks, cores, buffers);
        const double time = overlapped_time(ranks, cores, best, buffers);
        for (int levels = 0; levels <= height(ranks); ++levels) {
          const double other = overlapped_time(ranks, cores, levels, buffers);
          ASSERT_TRUE(levels < best ? other > time : other >= time)
              << ranks << " of " << cores << " cores, S = " << levels;
        }
      }
}

TEST(SplitTree, ComputationOnAllCoresLastsAsLongAsTheCollective) {
  for (const Buffers buffers : both) {
    EXPECT_EQ(computation_time(64, 64, buffers), blocking_time(64, buffers));
    EXPECT_EQ(computation_time(32, 64, buffers), 2 * blocking_time(64, buffers));
  }
}

TEST(SplitTree, WithoutCommunicationCoresAllIsBlocking) {
  for (const Buffers buffers : both)
    for (const int ranks : {64, 65, 1000}) {
      EXPECT_EQ(best_levels(ranks, 64, buffers), height(ranks));
      EXPECT_EQ(nonblocking_time(ranks, 64, height(ranks), buffers), blocking_time(ranks, buffers));
      EXPECT_TRUE(std::isinf(overlapped_time(ranks, 64, height(ranks) - 1, buffers)));
    }
}

TEST(SplitTree, EveryNumberHasAnAnswer) {
  for (const Buffers buffers : both)
    for (const int ranks : {INT_MIN, -1, 0, 1, 2, INT_MAX})
      for (const int cores : {INT_MIN, -1, 0, 1, 2, INT_MAX}) {
        const int best = best_levels(ranks, cores, buffers);
        EXPECT_GE(best, 0);
        EXPECT_LE(best, height(ranks));
        EXPECT_TRUE(std::isfinite(overlapped_time(ranks, cores, best, buffers)));
        for (const int levels : {INT_MIN, -1, 0, 31, INT_MAX})
          EXPECT_GE(nonblocking_time(ranks, cores, levels, buffers), 0);
      }
  EXPECT_EQ(height(INT_MAX), 31);
  EXPECT_EQ(level_messages(INT_MAX, 31), 1);
  EXPECT_EQ(level_messages(8, 0), 0);
  EXPECT_EQ(level_messages(8, 4), 0);
}

}  // namespace
}  // namespace tutti::lab::model
