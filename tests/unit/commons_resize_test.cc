// SPDX-License-Identifier: BSD-3-Clause
// Growth: in place where there is room, and so rarely by moving that it is amortised.
#include <gtest/gtest.h>

#include <vector>

#include "commons_testing.h"

namespace tutti::commons {
namespace {

using namespace testing;

TEST(CommonsResize, GrowsInPlaceIntoFreeNeighbours) {
  unsigned char* block = take(64 * kib);
  write_pattern(block, 64 * kib, 1);
  ASSERT_TRUE(resize_in_place(block, 10 * mib));
  EXPECT_TRUE(has_pattern(block, 64 * kib, 1));
  EXPECT_GE(usable_bytes(block), 10 * mib);
  std::memset(block, 1, usable_bytes(block));
  release(block);
  EXPECT_TRUE(is_valid());
}

TEST(CommonsResize, DoesNotGrowIntoANeighbourInUse) {
  unsigned char* block = take(64 * kib);
  unsigned char* neighbour = take(64 * kib);
  ASSERT_EQ(neighbour, block + 64 * kib);
  EXPECT_FALSE(resize_in_place(block, 64 * kib + 1));
  EXPECT_EQ(usable_bytes(block), 64 * kib);
  release(neighbour);
  EXPECT_TRUE(resize_in_place(block, 64 * kib + 1));
  release(block);
}

// The walk of a vector that grows page by page between others that do the same.
TEST(CommonsResize, AlternatingGrowthMovesSeldom) {
  constexpr int vectors = 4;
  constexpr std::size_t last_bytes = 16 * mib;
  unsigned char* blocks[vectors];
  int moves = 0;
  for (int i = 0; i < vectors; ++i) {
    blocks[i] = take(32 * kib);
    write_pattern(blocks[i], 32 * kib, static_cast<std::uint64_t>(i));
  }
  for (std::size_t bytes = 36 * kib; bytes <= last_bytes; bytes += 4 * kib)
    for (unsigned char*& block : blocks) {
      auto* resized = static_cast<unsigned char*>(resize(block, bytes));
      ASSERT_NE(resized, nullptr);
      moves += resized != block;
      block = resized;
    }
  // Each move multiplies the room by five: from 32 KiB, four of them lead beyond 16 MiB.
  EXPECT_LE(moves, vectors * 4);
  for (int i = 0; i < vectors; ++i) {
    EXPECT_TRUE(has_pattern(blocks[i], 32 * kib, static_cast<std::uint64_t>(i)));
    release(blocks[i]);
  }
  EXPECT_TRUE(is_valid());
}

TEST(CommonsResize, SlackIsNotResident) {
  unsigned char* block = take(1 * mib);
  unsigned char* behind = take(1 * mib);
  std::memset(block, 1, 1 * mib);
  const std::size_t before = resident_bytes();
  block = static_cast<unsigned char*>(resize(block, 1 * mib + 32 * kib));
  trim();
  EXPECT_LE(resident_bytes(), before + 4 * kib);
  unsigned char* grown = static_cast<unsigned char*>(resize(block, 4 * mib));
  EXPECT_EQ(grown, block);
  EXPECT_LE(resident_bytes(), before + 4 * kib);
  release(grown);
  release(behind);
}

TEST(CommonsResize, ShrinkingGivesPagesBack) {
  trim();
  const std::size_t bytes = 20 * mib + 20 * kib;  // which has no page beyond (docs, "Apart")
  unsigned char* block = take(bytes);
  std::memset(block, 1, bytes);
  const std::size_t resident = resident_bytes();
  ASSERT_EQ(resize(block, 64 * kib), block);
  EXPECT_EQ(usable_bytes(block), 64 * kib);
  EXPECT_LE(resident_bytes(), resident) << "what is kept is free memory";
  EXPECT_EQ(resident_bytes(), 64 * kib + stats().resident_free);
  trim();
  EXPECT_EQ(stats().resident_free, 0u);
  EXPECT_LE(resident_bytes(), 64 * kib + 4 * kib);
  EXPECT_TRUE(all_zero(block + 64 * kib, 1 * mib)) << "the pages were given back";
  release(block);
}

TEST(CommonsResize, BetweenHalfTheThresholdAndTheThresholdABlockStays) {
  const std::size_t threshold = options().commons_threshold;
  unsigned char* block = take(threshold + 8 * kib);
  EXPECT_EQ(resize(block, threshold / 2), block);
  EXPECT_EQ(resize(block, threshold + 1), block);
  EXPECT_EQ(resize(block, threshold / 2 - 1), nullptr);
  EXPECT_GE(usable_bytes(block), threshold + 1);
  release(block);
}

TEST(CommonsResize, MoreThanTheRangeIsRefused) {
  unsigned char* block = take(40 * kib);
  write_pattern(block, 40 * kib, 9);
  EXPECT_EQ(resize(block, ~std::size_t{0} / 2), nullptr);
  EXPECT_FALSE(resize_in_place(block, handle().bytes));
  EXPECT_TRUE(has_pattern(block, 40 * kib, 9));
  release(block);
  EXPECT_TRUE(is_valid());
}

}  // namespace
}  // namespace tutti::commons
