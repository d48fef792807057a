// SPDX-License-Identifier: BSD-3-Clause
// Little room, or none. Each test runs in a child of a process that has no commons yet, because
// options and limits are read once.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cerrno>
#include <vector>

#include "base/bits.h"
#include "commons_testing.h"
#include "os/limits.h"

namespace tutti::commons {
namespace {

using namespace testing;

#define TUTTI_IN_CHILD(...) EXPECT_EQ(in_child([&]() -> bool { __VA_ARGS__ }), 0)

bool limit(__rlimit_resource which, std::uint64_t soft) {
  rlimit value{};
  if (::getrlimit(which, &value) != 0) return false;
  value.rlim_cur = soft;
  return ::setrlimit(which, &value) == 0;
}

bool works() {
  unsigned char* block = take(1 * mib, true);
  if (block == nullptr || !all_zero(block, 1 * mib)) return false;
  write_pattern(block, 1 * mib, 1);
  const bool child = in_child([&] {
                       unsigned char* other = take(64 * kib, true);
                       return has_pattern(block, 1 * mib, 1) && all_zero(other, 64 * kib);
                     }) == 0;
  release(block);
  return child && is_valid();
}

bool stays_away() {
  return take(1 * mib) == nullptr && handle().fd == -1 && std::strlen(handle().why_not) > 0 &&
         !may_serve(1 * mib) && is_valid();
}

std::vector<unsigned char*> fill(std::size_t bytes) {
  std::vector<unsigned char*> blocks;
  while (unsigned char* block = take(bytes)) {
    std::memset(block, 0xff, bytes);
    blocks.push_back(block);
  }
  return blocks;
}

TEST(CommonsExhaustion, OfATinyRange) {
  TUTTI_IN_CHILD({
    ::setenv("TUTTI_COMMONS_RANGE", "8M", 1);
    std::vector<unsigned char*> blocks = fill(64 * kib);
    if (blocks.size() != 127 || handle().bytes != 8 * mib || !is_valid()) return false;
    // Neighbours that were freed one by one serve a block that needs them all, whatever their
    // state.
    for (std::size_t i = 0; i < 40; ++i) {
      release(blocks.back());
      blocks.pop_back();
      if (i == 20) trim();
    }
    unsigned char* large = take(40 * 64 * kib, true);
    if (large == nullptr || !all_zero(large, 40 * 64 * kib)) return false;
    // No room to move: realloc fails, and the block stays as it is.
    write_pattern(blocks[0], 64 * kib, 5);
    if (resize(blocks[0], 4 * mib) != nullptr || !has_pattern(blocks[0], 64 * kib, 5)) return false;
    release(large);
    return is_valid();
  });
}

TEST(CommonsExhaustion, WithoutRoomForSlackABlockStillMoves) {
  TUTTI_IN_CHILD({
    ::setenv("TUTTI_COMMONS_RANGE", "8M", 1);
    unsigned char* a = take(1 * mib);
    unsigned char* b = take(1 * mib);
    unsigned char* c = take(2 * mib);
    write_pattern(a, 1 * mib, 3);
    auto* moved = static_cast<unsigned char*>(resize(a, 3 * mib));  // 4 MiB are left
    if (moved == nullptr || !has_pattern(moved, 1 * mib, 3)) return false;
    release(b);
    release(c);
    release(moved);
    return is_valid();
  });
}

TEST(CommonsExhaustion, ScatteredHolesAndDirtyPagesBecomeOneBlock) {
  TUTTI_IN_CHILD({
    ::setenv("TUTTI_COMMONS_RANGE", "16M", 1);
    std::vector<unsigned char*> blocks = fill(32 * kib);
    for (std::size_t i = 0; i < blocks.size(); i += 2) release(blocks[i]);
    trim();
    for (std::size_t i = 1; i < blocks.size(); i += 2) release(blocks[i]);
    unsigned char* all = take(15 * mib, true);
    return all != nullptr && all_zero(all, 15 * mib) && is_valid();
  });
}

TEST(CommonsOptions, ThresholdAndBudget) {
  TUTTI_IN_CHILD({
    ::setenv("TUTTI_COMMONS_THRESHOLD", "1M", 1);
    ::setenv("TUTTI_COMMONS_BUDGET", "0", 1);
    if (take(1 * mib - 1) != nullptr) return false;
    unsigned char* block = take(2 * mib);
    std::memset(block, 1, 2 * mib);
    release(block);
    return resident_bytes() == 0 && stats().resident_free == 0 && is_valid();
  });
}

TEST(CommonsOptions, WhatStaysFreeAndWhatIsInUseAreLittleMoreThanWasInUseAtOnce) {
  TUTTI_IN_CHILD({
    ::setenv("TUTTI_COMMONS_BUDGET", "1G", 1);
    std::vector<unsigned char*> blocks;
    for (int i = 0; i < 60; ++i) {
      blocks.push_back(take(1 * mib));
      std::memset(blocks.back(), 1, 1 * mib);
    }
    for (std::size_t i = 0; i < blocks.size(); i += 2) release(blocks[i]);
    if (stats().resident_free < 30 * mib) return false;
    // The holes are too small for these.
    for (int i = 0; i < 20; ++i) std::memset(take(2 * mib), 1, 2 * mib);
    return stats().bytes >= 70 * mib && stats().resident_free <= 12 * mib &&
           stats().resident_free >= 11 * mib && is_valid();
  });
}

TEST(CommonsOptions, Off) {
  TUTTI_IN_CHILD({ return ::setenv("TUTTI_OFF", "1", 1) == 0 && stays_away(); });
  TUTTI_IN_CHILD({ return ::setenv("TUTTI_MEMORY", "cma,bounce", 1) == 0 && stays_away(); });
  TUTTI_IN_CHILD({ return ::setenv("TUTTI_MEMORY", "", 1) == 0 && stays_away(); });
  TUTTI_IN_CHILD({ return ::setenv("TUTTI_MEMORY", "commonsense", 1) == 0 && stays_away(); });
  TUTTI_IN_CHILD({ return ::setenv("TUTTI_MEMORY", "bounce,commons", 1) == 0 && works(); });
  TUTTI_IN_CHILD(
      { return ::setenv("LD_PRELOAD", "/usr/lib/vgpreload_core.so", 1) == 0 && stays_away(); });
}

TEST(CommonsOptions, BeforeTheEnvironmentIsKnownNothingIsServedAndNothingDecided) {
  TUTTI_IN_CHILD({
    char** known = environ;
    environ = nullptr;
    if (take(1 * mib) != nullptr) return false;
    environ = known;
    return works();
  });
}

TEST(CommonsLimits, NoDescriptorLeft) {
  TUTTI_IN_CHILD({ return limit(RLIMIT_NOFILE, 3) && stays_away(); });
}

TEST(CommonsLimits, FewDescriptors) {
  TUTTI_IN_CHILD({ return limit(RLIMIT_NOFILE, 64) && works() && handle().fd < 64; });
}

// As the kernel answers malloc, unless vm.overcommit_memory is 1.
TEST(CommonsLimits, MoreThanTheMachineHas) {
  TUTTI_IN_CHILD({
    const std::uint64_t most = os::promise_limit_bytes();
    if (!works()) return false;
    if (most > handle().bytes - 2 * page_bytes) return true;
    // A sanitizer's malloc ends the process instead.
    return take(most + page_bytes) == nullptr &&
           (TUTTI_SANITIZED || ::malloc(most + page_bytes) == nullptr) && is_valid();
  });
}

// ftruncate beyond it would be answered by SIGXFSZ.
TEST(CommonsLimits, FileSize) {
  TUTTI_IN_CHILD(
      { return limit(RLIMIT_FSIZE, 64 * mib) && works() && handle().bytes <= 64 * mib; });
  TUTTI_IN_CHILD({ return limit(RLIMIT_FSIZE, 0) && stays_away(); });
}

#if !TUTTI_SANITIZED  // their shadow memory alone exceeds any limit
TEST(CommonsLimits, AddressSpace) {
  TUTTI_IN_CHILD({
    if (!limit(RLIMIT_AS, 1024 * mib) || !works()) return false;
    if (handle().bytes > 256 * mib) return false;
    // What the commons does not have, others still get.
    std::vector<unsigned char*> blocks = fill(16 * mib);
    return blocks.size() >= 8 && ::malloc(64 * mib) != nullptr && is_valid();
  });
  TUTTI_IN_CHILD({ return limit(RLIMIT_AS, 1 * mib) && stays_away(); });
}

// Private memory is limited; the range itself is shared and does not count, its map and the copy of
// a child do.
TEST(CommonsLimits, PrivateMemory) {
  TUTTI_IN_CHILD({ return limit(RLIMIT_DATA, 256 * mib) && works(); });
}

// Without the descriptor, the copy is made beside the original, which takes address space.
TEST(CommonsLimits, AChildWithoutRoomForItsCopyEnds) {
  TUTTI_IN_CHILD({
    ::setenv("TUTTI_COMMONS_RANGE", "1G", 1);
    std::memset(take(256 * mib), 1, 256 * mib);
    ::close(handle().fd);
    return in_child([] { return true; }) == 0 && limit(RLIMIT_AS, 1100 * mib) &&
           in_child([] { return true; }) == 127 && is_valid();
  });
}

TEST(CommonsLimits, AChildWithoutADescriptorForItsParentToWaitOnEnds) {
  TUTTI_IN_CHILD({
    std::memset(take(1 * mib), 1, 1 * mib);
    const rlimit none{3, 3};
    return ::setrlimit(RLIMIT_NOFILE, &none) == 0 && in_child([] { return true; }) == 127 &&
           is_valid();
  });
}
#endif

}  // namespace
}  // namespace tutti::commons
