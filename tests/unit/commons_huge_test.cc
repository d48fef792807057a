// SPDX-License-Identifier: BSD-3-Clause
// Large blocks have huge pages, and no page more than they need.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "commons/heap.h"
#include "commons_testing.h"

namespace tutti::commons {
namespace {

using namespace testing;

constexpr std::size_t huge = huge_page_bytes;

class CommonsHuge : public ::testing::Test {
 protected:
  void SetUp() override {
    (void)handle();
    if (*heap.why_small != '\0') GTEST_SKIP() << heap.why_small;
    trim();
    before_ = resident_bytes();
  }
  [[nodiscard]] std::size_t grown() const { return resident_bytes() - before_; }

 private:
  std::size_t before_ = 0;
};

void touch(unsigned char* block, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += 4096) block[at] = 1;
}

// Of all mappings of the file.
std::size_t mapped_huge() {
  std::ifstream smaps("/proc/self/smaps");
  std::size_t sum = 0, kilobytes = 0;
  for (std::string line; std::getline(smaps, line);)
    if (std::sscanf(line.c_str(), "ShmemPmdMapped: %zu", &kilobytes) == 1) sum += kilobytes * kib;
  return sum;
}

TEST_F(CommonsHuge, ALargeBlockHasThem) {
  unsigned char* block = take(8 * mib);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % huge, 0u);
  block[0] = 1;
  EXPECT_EQ(grown(), huge);
  touch(block, 8 * mib);
  EXPECT_EQ(grown(), 8 * mib);
  EXPECT_GE(mapped_huge(), 8 * mib);
  release(block);
}

TEST_F(CommonsHuge, ItsTailHasSmallOnes) {
  unsigned char* block = take(3 * mib);
  block[2 * mib] = 1;
  EXPECT_EQ(grown(), 4096u);
  touch(block, 3 * mib);
  EXPECT_EQ(grown(), 3 * mib);
  release(block);
}

TEST_F(CommonsHuge, SmallBlocksDoWithout) {
  std::vector<unsigned char*> blocks;
  for (int i = 0; i < 64; ++i) {
    blocks.push_back(take(128 * kib));
    blocks.back()[0] = 1;
  }
  EXPECT_EQ(grown(), 64 * 4096u);
  for (unsigned char* block : blocks) release(block);
}

TEST_F(CommonsHuge, PlaceThatALargeBlockHadIsSmallAgain) {
  unsigned char* large = take(16 * mib);
  touch(large, 16 * mib);
  release(large);
  trim();
  EXPECT_EQ(grown(), 0u);
  std::vector<unsigned char*> blocks;
  for (int i = 0; i < 256; ++i) {
    blocks.push_back(take(64 * kib));
    blocks.back()[0] = 1;
  }
  EXPECT_EQ(grown(), 256 * 4096u);
  for (unsigned char* block : blocks) release(block);
  // And large again.
  trim();
  large = take(16 * mib);
  large[0] = 1;
  EXPECT_EQ(grown(), huge);
  release(large);
}

TEST_F(CommonsHuge, WhatABlockGrowsIntoHasThemToo) {
  unsigned char* block = take(1 * mib);
  block = static_cast<unsigned char*>(resize(block, 6 * mib));
  ASSERT_NE(block, nullptr);
  touch(block, 6 * mib);
  EXPECT_LE(grown(), 8 * mib);
  const std::size_t before = grown();
  ASSERT_TRUE(resize_in_place(block, 20 * mib));
  EXPECT_EQ(grown(), before);
  const std::size_t next = 8 * mib;
  block[next] = 1;
  EXPECT_EQ(grown(), before + huge);
  touch(block, 20 * mib);
  // It begins anywhere, and the page in which it ended had small ones already.
  EXPECT_GE(mapped_huge(), 16 * mib);
  release(block);
}

// One is freed and made again and again: it finds the place it had.
// The kernel keeps what is advised and what is not apart, and has 65 530 mappings for a process.
TEST_F(CommonsHuge, VeryManyBlocksLeaveMappingsToOthers) {
  const auto mappings = [] {
    std::ifstream file("/proc/self/maps");
    int lines = 0;
    for (std::string line; std::getline(file, line);) ++lines;
    return lines;
  };
  const int before = mappings();
  std::vector<void*> blocks;
  while (blocks.size() < 20'000) {
    blocks.push_back(allocate(2 * mib + 100 * kib, 1, false));
    if (blocks.back() == nullptr) GTEST_SKIP() << "the range is too small here";
  }
  EXPECT_LT(mappings() - before, 30'000);
  for (void* block : blocks) release(block);
  trim();
  EXPECT_TRUE(is_valid());
}

TEST_F(CommonsHuge, TheSameWorkNeedsNoMoreMemory) {
  for (int round = 0; round < 50; ++round) {
    unsigned char* a = take(5 * mib);
    unsigned char* b = take(7 * mib);
    touch(a, 5 * mib);
    touch(b, 7 * mib);
    EXPECT_LE(grown(), 16 * mib) << round;
    release(a);
    release(b);
  }
}

// As where the machine is better without: NumPy asks for its large arrays, as it does bare.
TEST_F(CommonsHuge, WhereNoneAreAskedForTheProgramMayAsk) {
  heap.huge = false;
  for (int round = 0; round < 2; ++round) {
    unsigned char* block = take(16 * mib);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % huge, 0u);
    const std::size_t mapped = mapped_huge();
    block[4 * mib] = 1;
    EXPECT_EQ(grown(), 4096u) << "also where some have been";
    ASSERT_EQ(::madvise(block + 4096, 16 * mib - 4096, MADV_HUGEPAGE), 0);
    touch(block + 8 * mib, 8 * mib);
    EXPECT_EQ(grown(), 4096 + 8 * mib);
    EXPECT_EQ(mapped_huge(), mapped + 8 * mib);
    release(block);
    trim();
    EXPECT_EQ(grown(), 0u);
  }
  heap.huge = true;
}

TEST_F(CommonsHuge, ContentsAreRight) {
  std::vector<unsigned char*> blocks;
  for (std::size_t i = 0; i < 20; ++i) {
    blocks.push_back(take((i + 1) * 700 * kib, true));
    EXPECT_TRUE(all_zero(blocks.back(), (i + 1) * 700 * kib));
    write_pattern(blocks.back(), (i + 1) * 700 * kib, i);
  }
  for (std::size_t i = 0; i < 20; i += 2) release(blocks[i]);
  trim();
  for (std::size_t i = 1; i < 20; i += 2)
    EXPECT_TRUE(has_pattern(blocks[i], (i + 1) * 700 * kib, i)) << i;
  EXPECT_EQ(in_child([&] {
              for (std::size_t i = 1; i < 20; i += 2)
                if (!has_pattern(blocks[i], (i + 1) * 700 * kib, i)) return false;
              unsigned char* own = take(9 * mib, true);
              return all_zero(own, 9 * mib);
            }),
            0);
  for (std::size_t i = 1; i < 20; i += 2) release(blocks[i]);
}

}  // namespace
}  // namespace tutti::commons
