// SPDX-License-Identifier: BSD-3-Clause
#include "memory/windows.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace tutti::memory {
namespace {

constexpr std::int64_t mib = std::int64_t{1} << 20;

// A process whose page table is a number.
struct Process {
  std::int64_t resident = 100 * mib;  // what was there before counts nothing
  std::int64_t most = INT64_MIN;      // that had come since, when it was forgotten
  int forgotten = 0;
  Windows windows;

  void bound(const Windows::Bounds& bounds) {
    const std::int64_t before = resident;
    windows.bound(
        bounds, [this] { return std::optional(resident); },
        [this, before] {
          most = std::max(most, resident - before);
          resident = before;
          ++forgotten;
        });
  }
  // A collective with one peer, both of whose buffers are new.
  void fresh(std::int64_t bytes) {
    resident += 2 * bytes;
    windows.moved(static_cast<std::size_t>(bytes), 1);
  }
};

TEST(Windows, WithoutABoundNothingIsForgotten) {
  Windows windows;
  for (int i = 0; i < 1000; ++i) windows.moved(std::size_t{1} << 40, 100);
}

TEST(Windows, BuffersThatAreUsedAgainStay) {
  Process process;
  process.bound({.most_bytes = 32 * mib});
  process.fresh(4 * mib);
  for (int i = 0; i < 10'000; ++i) process.windows.moved(4 * mib, 1);
  EXPECT_EQ(process.forgotten, 0);
}

TEST(Windows, NewBuffersLeaveBeforeThereAreTooMany) {
  Process process;
  process.bound({.most_bytes = 32 * mib});
  for (int i = 0; i < 1000; ++i) process.fresh(2 * mib);
  EXPECT_GT(process.forgotten, 100);
  EXPECT_LE(process.most, 32 * mib);
}

TEST(Windows, SmallPagesLeaveWhenTheyHaveBeenPaidFor) {
  constexpr int shift = 6;
  Process process;
  process.bound({.most_bytes = 32 * mib, .large_shift = 0, .small_shift = shift});
  constexpr int each = 1 << 20;
  // As large as they may be, they come back for nothing until 64 times as much has been moved.
  for (int i = 0; i < 32; ++i) process.fresh(each);
  EXPECT_EQ(process.forgotten, 0);
  int calls = 0;
  for (; process.forgotten == 0 && calls < 100'000; ++calls) process.windows.moved(each, 1);
  EXPECT_EQ(process.forgotten, 1);
  EXPECT_NEAR(calls, 32 << shift, 16 << shift);
}

TEST(Windows, WhatGoesThroughTheSegmentDoesNotCount) {
  Process process;
  process.bound({.most_bytes = 1});
  process.resident += 100 * mib;
  for (int i = 0; i < 1000; ++i) process.windows.moved(page_bytes - 1, 1000);
  EXPECT_EQ(process.forgotten, 0);
}

TEST(Windows, WhereTheKernelSaysNothingTheyLeaveForWhatWasMoved) {
  int forgotten = 0;
  Windows windows;
  windows.bound(
      {.most_bytes = 32 * mib}, [] { return std::nullopt; }, [&] { ++forgotten; });
  for (int i = 0; i < 64; ++i) windows.moved(2 * mib, 2);
  EXPECT_GE(forgotten, 64 * 8 / 32);
}

TEST(Windows, WhatGoesByItselfMakesNoRoom) {
  Process process;
  process.bound({.most_bytes = 32 * mib});
  process.resident -= 64 * mib;
  for (int i = 0; i < 8; ++i) process.windows.moved(2 * mib, 1);  // looks
  const std::int64_t least = process.resident;
  while (process.forgotten == 0 && process.resident < least + 64 * mib) process.fresh(2 * mib);
  EXPECT_EQ(process.forgotten, 1);
  EXPECT_LE(process.most, -64 * mib + 32 * mib);
}

TEST(Windows, AnyThreadMaySayWhatItMoved) {
  std::atomic<std::int64_t> resident{0};
  std::atomic<int> forgotten{0};
  Windows windows;
  windows.bound(
      {.most_bytes = 32 * mib}, [&] { return std::optional(resident.load()); },
      [&] {
        resident = 0;
        ++forgotten;
      });
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 10'000; ++i) {
        resident += 4 * mib;
        windows.moved(2 * mib, 1);
      }
    });
  threads.clear();
  EXPECT_GT(forgotten, 100);
}

}  // namespace
}  // namespace tutti::memory
