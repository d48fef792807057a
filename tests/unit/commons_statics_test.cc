// SPDX-License-Identifier: BSD-3-Clause
// The program's static arrays in the commons: the same addresses and contents, reachable by peers,
// and private after a fork. Each test is a process of its own.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <fstream>
#include <string>
#include <thread>

#include "commons/heap.h"
#include "commons_testing.h"
#include "os/huge_file.h"
#include "os/program.h"

namespace tutti::commons {
namespace {

using namespace testing;
using CommonsStatics = OwnProcess;

constexpr std::size_t array_bytes = 5 * mib + 12345;
// These programs have Tutti's own variables among theirs, so they name the pages to be moved.
struct alignas(4096) {
  unsigned char array[array_bytes];
  unsigned char sparse[std::size_t{1} << 30];
} g_arrays;
auto& g_array = g_arrays.array;
auto& g_sparse = g_arrays.sparse;
int g_initialised = 42;

void adopt_arrays() { adopt({reinterpret_cast<std::byte*>(&g_arrays), sizeof g_arrays}); }

// The same bytes as a peer sees them.
unsigned char* as_peer(const unsigned char* address, std::size_t bytes) {
  const std::byte* in_range = shared(address, bytes);
  if (in_range == nullptr) return nullptr;
  const Handle s = handle();
  void* window =
      ::mmap(nullptr, s.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, s.fd, 0);
  if (window == MAP_FAILED) return nullptr;
  return static_cast<unsigned char*>(window) + offset_of(in_range);
}

std::size_t status_kib(const std::string& key) {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;)
    if (word == key + ":" && file >> word) return std::stoul(word);
  return 0;
}

TEST_F(CommonsStatics, AreTheProgramsZeroedVariables) {
  const os::Pages pages = os::zeroed_statics();
  const auto inside = [&](const void* address, std::size_t bytes) {
    const auto at = static_cast<std::size_t>(static_cast<const std::byte*>(address) - pages.first);
    return at < pages.bytes && bytes <= pages.bytes - at;
  };
  EXPECT_TRUE(inside(g_array, sizeof g_array));
  EXPECT_TRUE(inside(g_sparse, sizeof g_sparse));
  EXPECT_FALSE(inside(&pages, sizeof pages));
  EXPECT_LT(pages.bytes, sizeof g_array + sizeof g_sparse + 64 * mib);
}

TEST_F(CommonsStatics, TouchedRunsAreFound) {
  g_sparse[100 * mib] = 1;
  g_sparse[700 * mib] = 1;
  g_sparse[700 * mib + 4096] = 1;
  const auto page_of = [](const void* at) { return reinterpret_cast<std::uintptr_t>(at) / 4096; };
  const std::size_t pages = sizeof g_sparse / 4096 - 1;
  auto* first = reinterpret_cast<std::byte*>((page_of(g_sparse) + 1) * 4096);
  os::TouchedRuns runs({first, pages * 4096});
  std::size_t seen = 0, found = 0;
  for (os::Pages run; runs.next(&run);) {
    seen += run.bytes / 4096;
    for (const std::size_t at : {100 * mib, 700 * mib, 700 * mib + 4096})
      found += page_of(g_sparse + at) - page_of(run.first) < run.bytes / 4096;
  }
  EXPECT_FALSE(runs.has_failed());
  EXPECT_EQ(found, 3u);
  // A huge page may have come with each of them.
  EXPECT_LE(seen, 3u * 512);
}

TEST_F(CommonsStatics, KeepAddressesAndContentsAndAreShared) {
  write_pattern(g_array, sizeof g_array, 1);
  EXPECT_FALSE(shared(g_array, sizeof g_array));
  adopt_arrays();
  EXPECT_TRUE(has_pattern(g_array, sizeof g_array, 1));
  EXPECT_EQ(g_initialised, 42);
  EXPECT_FALSE(owns(g_array));
  // Huge pages need that.
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(shared(g_array, 1)) % (2 * mib),
            reinterpret_cast<std::uintptr_t>(g_array) % (2 * mib));
  unsigned char* window = as_peer(g_array, sizeof g_array);
  ASSERT_NE(window, nullptr);
  EXPECT_TRUE(has_pattern(window, sizeof g_array, 1));
  write_pattern(window, sizeof g_array, 2);
  EXPECT_TRUE(has_pattern(g_array, sizeof g_array, 2));
  g_array[array_bytes - 1] = 77;
  EXPECT_EQ(window[array_bytes - 1], 77);
  EXPECT_TRUE(is_valid());
}

TEST_F(CommonsStatics, KnowsTheirEnds) {
  adopt_arrays();
  auto begin = reinterpret_cast<std::uintptr_t>(&g_arrays);
  asm volatile("" : "+r"(begin));  // the compiler need not know what lies before
  const auto* first = reinterpret_cast<const std::byte*>(begin);
  EXPECT_TRUE(shared(first, sizeof g_arrays));
  EXPECT_FALSE(shared(first, sizeof g_arrays + 1));
  EXPECT_FALSE(shared(first - 1, 2));
  EXPECT_FALSE(shared(first + sizeof g_arrays - 1, 2));
  EXPECT_FALSE(shared(g_array, ~std::size_t{0}));
}

TEST_F(CommonsStatics, CostNoMemoryWhereUntouched) {
  const std::size_t before = status_kib("VmRSS");
  adopt_arrays();
  ASSERT_TRUE(shared(g_sparse, sizeof g_sparse));
  EXPECT_LT(resident_bytes(), 64 * mib);
  EXPECT_LT(status_kib("VmRSS"), before + 4096);
  EXPECT_EQ(g_sparse[512 * mib], 0);
}

TEST_F(CommonsStatics, TouchedHereAndThereCostWhatTheyWouldWithoutTutti) {
  adopt_arrays();
  if (*heap.why_small != '\0') GTEST_SKIP() << heap.why_small;
  const std::size_t before = resident_bytes();
  for (std::size_t at = 256 * mib; at < 384 * mib; at += 2 * mib) g_sparse[at] = 1;
  EXPECT_EQ(resident_bytes() - before, 64 * (os::huge_pages_come_unasked() ? 2 * mib : 4 * kib));
}

TEST_F(CommonsStatics, AfterAForkNeitherSideSeesWhatTheOtherWrites) {
  write_pattern(g_array, sizeof g_array, 1);
  adopt_arrays();
  unsigned char* block = take(1 * mib);
  write_pattern(block, 1 * mib, 7);
  g_sparse[900 * mib] = 9;
  EXPECT_EQ(in_child([&] {
              bool good = has_pattern(g_array, sizeof g_array, 1) && g_sparse[900 * mib] == 9 &&
                          has_pattern(block, 1 * mib, 7) && !shared(g_array, sizeof g_array);
              write_pattern(g_array, sizeof g_array, 2);
              write_pattern(block, 1 * mib, 8);
              g_initialised = 1;
              // Its own child is copied by the kernel.
              good = good && in_child([&] {
                               const bool same = has_pattern(g_array, sizeof g_array, 2);
                               write_pattern(g_array, sizeof g_array, 3);
                               return same;
                             }) == 0;
              return good && has_pattern(g_array, sizeof g_array, 2) && is_valid();
            }),
            0);
  EXPECT_TRUE(has_pattern(g_array, sizeof g_array, 1));
  EXPECT_TRUE(has_pattern(block, 1 * mib, 7));
  EXPECT_EQ(g_initialised, 42);
  EXPECT_TRUE(shared(g_array, sizeof g_array));
}

TEST_F(CommonsStatics, AForkCopiesOnlyWhatIsThere) {
  adopt_arrays();
  g_sparse[300 * mib] = 3;
  EXPECT_EQ(in_child([] {
              const std::size_t resident = status_kib("VmRSS");
              return resident < 128 * kib && g_sparse[300 * mib] == 3;  // KiB
            }),
            0);
}

TEST_F(CommonsStatics, AForkAfterTheDescriptorWasClosed) {
  write_pattern(g_array, sizeof g_array, 1);
  adopt_arrays();
  unsigned char* block = take(1 * mib);
  write_pattern(block, 1 * mib, 7);
  ::close(handle().fd);
  EXPECT_EQ(in_child([&] {
              const bool good =
                  has_pattern(g_array, sizeof g_array, 1) && has_pattern(block, 1 * mib, 7);
              write_pattern(g_array, sizeof g_array, 2);
              return good;
            }),
            0);
  EXPECT_TRUE(has_pattern(g_array, sizeof g_array, 1));
}

TEST_F(CommonsStatics, StayWhereThreadsRun) {
  std::atomic<bool> done{false};
  std::thread other([&] { done.wait(false); });
  EXPECT_FALSE(os::is_only_thread());
  adopt_arrays();
  done = true;
  done.notify_one();
  other.join();
  EXPECT_EQ(shared(g_array, sizeof g_array), nullptr);
}

TEST_F(CommonsStatics, StayWhereTuttiIsAmongThem) {
  adopt_statics();
  EXPECT_EQ(shared(g_array, sizeof g_array), nullptr);
}

TEST_F(CommonsStatics, StayWhenTheRangeIsTooSmall) {
  ::setenv("TUTTI_COMMONS_RANGE", "64M", 1);
  write_pattern(g_array, sizeof g_array, 1);
  adopt_arrays();
  EXPECT_EQ(shared(g_array, sizeof g_array), nullptr);
  EXPECT_TRUE(has_pattern(g_array, sizeof g_array, 1));
  EXPECT_NE(take(1 * mib), nullptr);
}

}  // namespace
}  // namespace tutti::commons
