// SPDX-License-Identifier: BSD-3-Clause
#include "arch/arch.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <cstdint>
#include <cstring>

extern "C" {
using Function = void*(void*, const char*);

void* g_answer = nullptr;
const void* g_told = nullptr;    // who `asked` was told had called
const void* g_seen = nullptr;    // and who the function behind saw
const char* g_second = nullptr;  // its second argument
[[gnu::visibility("hidden")]] Function* tutti_test_behind = nullptr;

// Spoils the registers that a call may.
[[gnu::visibility("hidden"), gnu::used, gnu::noinline]] void* tutti_test_ask(void* first,
                                                                             const char*,
                                                                             const void* caller) {
  g_told = caller;
  return first == nullptr ? g_answer : nullptr;
}
void* tutti_test_asking(void*, const char*);
}
TUTTI_ASK_FIRST(tutti_test_asking, tutti_test_ask, tutti_test_behind);

namespace tutti::arch {
namespace {

void* behind(void* first, const char* second) {
  g_seen = __builtin_return_address(0);
  g_second = second;
  return first;
}

// Of the type that another part of the processor may compute. Not before it is called.
[[gnu::noipa]] long double sum_of(long double left, long double right) { return left + right; }

// Whoever computes for another thread rounds as that one does. What traps is its own.
TEST(Arch, RoundsAsAnotherThreadDoes) {
  const std::uint64_t nearest = float_control();
  ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
  const std::uint64_t upward = float_control();
  EXPECT_NE(upward, nearest);
  const int traps = ::fegetexcept();
  set_float_control(nearest);
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
  EXPECT_EQ(float_control(), nearest);
  EXPECT_EQ(sum_of(1.0L, 1e-30L), 1.0L);
  const bool may_trap = ::feenableexcept(FE_DIVBYZERO) != -1;  // not every processor can
  EXPECT_EQ(float_control(), nearest);
  set_float_control(upward);
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
  EXPECT_GT(sum_of(1.0L, 1e-30L), 1.0L);
  EXPECT_EQ(::fegetexcept(), may_trap ? traps | FE_DIVBYZERO : traps);
  ::fedisableexcept(FE_DIVBYZERO);
  EXPECT_EQ(::fegetexcept(), traps);
  set_float_control(nearest);
}

TEST(Arch, AFunctionThatAsksFirstGivesTheAnswer) {
  tutti_test_behind = behind;
  int here = 0;
  g_answer = &here;
  g_seen = nullptr;
  EXPECT_EQ(tutti_test_asking(nullptr, "name"), &here);
  EXPECT_EQ(g_seen, nullptr);
}

TEST(Arch, AFunctionThatAsksFirstIsNotSeenByTheOneBehind) {
  tutti_test_behind = behind;
  int here = 0;
  const char* name = "name";
  EXPECT_EQ(tutti_test_asking(&here, name), &here);
  EXPECT_EQ(g_second, name);
  EXPECT_NE(g_told, nullptr);
  EXPECT_EQ(g_seen, g_told);
}

TEST(Arch, TicksGoOn) {
  const std::uint64_t begin = ticks();
  for (int i = 0; i < 1'000'000 && ticks() == begin; ++i) relax();
  EXPECT_GT(ticks(), begin);
}

TEST(Arch, WhatIsStreamedOrEvictedIsThere) {
  alignas(64) unsigned char to[256] = {}, from[256];
  for (std::size_t i = 0; i < sizeof from; ++i) from[i] = static_cast<unsigned char>(i * 7 + 1);
  prefetch_for_writing(to);
  prefetch_for_writing(nullptr);
  for (std::size_t at = 0; at < sizeof to; at += sizeof(Vector)) {
    Vector value;
    std::memcpy(&value, from + at, sizeof value);
    stream(to + at, value);
  }
  fence_streams();
  evict(to, sizeof to);
  EXPECT_EQ(std::memcmp(to, from, sizeof to), 0);
}

}  // namespace
}  // namespace tutti::arch
