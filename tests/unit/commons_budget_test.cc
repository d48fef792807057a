// SPDX-License-Identifier: BSD-3-Clause
// What is freed stays resident up to the budget, and goes back to the kernel beyond it.
#include <gtest/gtest.h>

#include <sys/mman.h>

#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "commons_testing.h"

namespace tutti::commons {
namespace {

using namespace testing;
using CommonsBudget = OwnProcess;

const std::size_t budget = options().commons_budget;

// Of this process, by the kernel's account.
std::size_t status_bytes(const char* format) {
  std::FILE* file = std::fopen("/proc/self/status", "r");
  char line[256];
  std::size_t kilobytes = 0;
  while (std::fgets(line, sizeof line, file) != nullptr)
    if (std::sscanf(line, format, &kilobytes) == 1) break;
  std::fclose(file);
  return kilobytes * kib;
}
// Shared memory that it has touched and that is still there.
std::size_t rss_shmem_bytes() { return status_bytes("RssShmem: %zu kB"); }
std::size_t most_resident_bytes() { return status_bytes("VmHWM: %zu kB"); }

std::vector<unsigned char*> fill(std::size_t count, std::size_t bytes) {
  std::vector<unsigned char*> blocks;
  for (std::size_t i = 0; i < count; ++i) {
    blocks.push_back(take(bytes));
    std::memset(blocks.back(), 1, bytes);
  }
  return blocks;
}

// The tests below free 100 and 200 MiB.
TEST_F(CommonsBudget, IsSmallerThanWhatIsFreedHere) { EXPECT_LE(budget, 80 * mib); }

TEST_F(CommonsBudget, WhatIsFreedForGoodGoesBackToTheKernel) {
  const std::vector<unsigned char*> blocks = fill(200, 1 * mib);
  EXPECT_GE(resident_bytes(), 200 * mib);
  const std::size_t before = rss_shmem_bytes();
  EXPECT_GE(before, 200 * mib);
  for (unsigned char* block : blocks) {
    release(block);
    EXPECT_LE(stats().resident_free, stats().bytes + budget);
  }
  EXPECT_TRUE(is_valid());
  EXPECT_LE(resident_bytes(), budget);
  EXPECT_LE(rss_shmem_bytes(), before - (200 * mib - budget));
  trim();
  EXPECT_EQ(stats().resident_free, 0u);
  EXPECT_EQ(resident_bytes(), 0u);
}

TEST_F(CommonsBudget, SteadyWorkTouchesNoNewPages) {
  const auto round = [] {
    for (unsigned char* block : fill(60, 512 * kib)) release(block);
  };
  for (int i = 0; i < 20; ++i) round();
  const std::size_t kept = resident_bytes();
  EXPECT_GE(kept, 30 * mib);
  for (int i = 0; i < 20; ++i) round();
  EXPECT_EQ(resident_bytes(), kept);
  EXPECT_LE(kept, 32 * mib) << "never more than was in use";
}

// What is in use varies, and so does what is free between.
TEST_F(CommonsBudget, WorkOfVaryingSizesTouchesFewNewPages) {
  std::mt19937 random(1);
  std::vector<unsigned char*> blocks(100, nullptr);
  std::size_t most_used = 0, most_together = 0;
  const auto work = [&](int steps) {
    for (int i = 0; i < steps; ++i) {
      unsigned char*& block = blocks[random() % blocks.size()];
      if (block != nullptr) release(block);
      block = take(8 * kib << random() % 10);
      ASSERT_NE(block, nullptr);
      const Stats now = stats();
      most_used = std::max<std::size_t>(most_used, now.bytes);
      most_together = std::max<std::size_t>(most_together, now.bytes + now.resident_free);
    }
  };
  work(10000);
  const std::uint64_t before = populated_since();
  work(10000);
  EXPECT_LE(populated_since() - before, 50u);
  EXPECT_LE(most_together, most_used + 12 * mib);
  for (unsigned char* block : blocks) release(block);
  EXPECT_LE(stats().resident_free, budget);
  EXPECT_TRUE(is_valid());
}

TEST_F(CommonsBudget, OneBlockLargerThanItLosesOnlyTheExcess) {
  const std::size_t bytes = 100 * mib;
  unsigned char* block = nullptr;
  for (int i = 0; i < 4; ++i) {
    block = take(bytes);
    std::memset(block, 1, bytes);
    release(block);
    EXPECT_LE(resident_bytes(), budget);
  }
  EXPECT_GE(resident_bytes(), budget - mib);
  EXPECT_EQ(take(bytes), block) << "what stayed is used again";
  release(block);
}

TEST_F(CommonsBudget, MemoryThatTheProgramHasLockedStaysUsable) {
  unsigned char* block = take(4 * mib);
  if (::mlock(block, 4 * mib) != 0) GTEST_SKIP() << "mlock is not allowed here";
  std::memset(block, 1, 4 * mib);
  release(block);
  trim();
  EXPECT_TRUE(is_valid());
  unsigned char* again = take(4 * mib, true);
  EXPECT_TRUE(all_zero(again, 4 * mib));
  ::munlock(again, 4 * mib);
  release(again);
}

// Bare, free() gives it back, lock and all.
TEST_F(CommonsBudget, MemoryThatTheProgramHadLockedKeepsNoOther) {
  unsigned char* locked = take(64 * mib);
  if (::mlock(locked, 64 * mib) != 0) GTEST_SKIP() << "mlock is not allowed here";
  const std::vector<unsigned char*> blocks = fill(100, 1 * mib);
  release(locked);
  for (unsigned char* block : blocks) release(block);
  EXPECT_LE(resident_bytes(), budget);
  trim();
  EXPECT_EQ(resident_bytes(), 0u);
  EXPECT_TRUE(is_valid());
}

// Bare, the kernel moves its pages.
TEST_F(CommonsBudget, BlockThatGrowsElsewhereIsNotThereTwice) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "its shadow memory is resident, too";
#endif
  unsigned char* block = take(300 * mib);
  unsigned char* behind = take(8 * mib);  // so that it has to move
  write_pattern(block, 300 * mib, 1);
  const std::size_t before = most_resident_bytes();
  ASSERT_GE(before, 300 * mib);
  auto* moved = static_cast<unsigned char*>(resize(block, 400 * mib, Patience::all));
  ASSERT_NE(moved, nullptr);
  ASSERT_NE(moved, block);
  EXPECT_LE(most_resident_bytes(), before + 16 * mib);
  EXPECT_TRUE(has_pattern(moved, 300 * mib, 1));
  EXPECT_TRUE(is_valid());
  release(behind);
  release(moved);
  EXPECT_TRUE(is_valid());
}

}  // namespace
}  // namespace tutti::commons
