// SPDX-License-Identifier: BSD-3-Clause
// How often a rank looks after its MPI, by the length of its calls and of what a look finds. Other
// work on the machine makes some looks or calls longer than they are, so bounds are wide.
#include "fabric/upkeep.h"

#include <gtest/gtest.h>

#include "arch/arch.h"

namespace tutti::fabric {
namespace {

int looks = 0;
std::uint64_t look_ticks = 0;

void spend(std::uint64_t ticks) {
  for (const std::uint64_t begin = arch::ticks(); arch::ticks() - begin < ticks;) {
  }
}

class UpkeepTest : public ::testing::Test {
 protected:
  UpkeepTest() {
    look_ticks = 20'000;
    Upkeep::set([] {
      // The very first look is interrupted: another process had the core for as long as a thousand.
      static bool is_first = true;
      ++looks;
      spend(is_first ? 1000 * look_ticks : look_ticks);
      is_first = false;
    });
    for (int i = 0; i < 5000; ++i) Upkeep::after_call(next_++);  // it learns
    looks = 0;
  }
  ~UpkeepTest() override { Upkeep::set(nullptr); }

  void call(int times, std::uint64_t ticks) {
    for (int i = 0; i < times; ++i) {
      spend(ticks);
      Upkeep::after_call(next_++);
    }
  }

  std::uint32_t next_ = 1;
};

TEST_F(UpkeepTest, LooksTakeLittleOfTheTimeOfShortCalls) {
  call(20'000, 0);
  EXPECT_GE(looks, 10);  // it never stops looking
  EXPECT_LE(looks, 400);
}

TEST_F(UpkeepTest, LongCallsAreEachFollowedByALook) {
  // It notices step by step, by looks, that calls are longer now.
  for (int i = 0; i < 3; ++i) {
    call(20, 400 * look_ticks);
    Upkeep::after_call(0);  // a look for sure
  }
  looks = 0;
  call(20, 400 * look_ticks);
  EXPECT_GE(looks, 15);
}

TEST_F(UpkeepTest, WhereAThreadCallsTheMpiNobodyElseLooks) {
  Upkeep::after_call(0, false);
  EXPECT_EQ(looks, 0);
  Upkeep::after_call(0);
  EXPECT_GE(looks, 1);
}

TEST_F(UpkeepTest, WhatIsBroughtForwardIsFollowedAtOnce) {
  call(5000, 0);
  ASSERT_GT(Upkeep::gap(), 3u);
  look_ticks *= 10;  // something happens
  Upkeep::after_call(0);
  EXPECT_EQ(Upkeep::gap(), 0u);
  looks = 0;
  call(1, 0);
  EXPECT_GE(looks, 2);  // again and again, as long as something happens
  EXPECT_LE(looks, 17);
  look_ticks /= 10;
  call(5000, 0);
  EXPECT_GT(Upkeep::gap(), 3u);
}

TEST_F(UpkeepTest, WhoHasNotLookedSinceACallCatchesUp) {
  call(5000, 0);
  const std::uint32_t gap = Upkeep::gap();
  ASSERT_GT(gap, 3u);
  Upkeep::after_call(0);
  EXPECT_FALSE(Upkeep::is_behind());
  Upkeep::after_call(1);
  EXPECT_TRUE(Upkeep::is_behind());
  looks = 0;
  Upkeep::catch_up();
  EXPECT_GE(looks, 1);
  EXPECT_FALSE(Upkeep::is_behind());
  Upkeep::after_call(0, false);  // a thread calls the MPI, but who knows when
  EXPECT_TRUE(Upkeep::is_behind());
  Upkeep::catch_up();
  Upkeep::skip_look();  // the end of a nonblocking one
  EXPECT_TRUE(Upkeep::is_behind());
}

TEST_F(UpkeepTest, WhoWaitsLooksNowAndThen) {
  // In a while in which another process has the core there are fewer looks, never more.
  for (int tries = 0; tries < 10; ++tries) {
    looks = 0;
    const std::uint64_t begin = arch::ticks();
    while (arch::ticks() - begin < 1000 * look_ticks) Upkeep::while_waiting();
    EXPECT_LE(looks, 100);
    if (looks >= 10) break;
  }
  EXPECT_GE(looks, 10);
}

TEST_F(UpkeepTest, WithoutAnMpiNobodyLooks) {
  Upkeep::set(nullptr);
  EXPECT_FALSE(Upkeep::needed());
  call(5000, 0);
  Upkeep::while_waiting();
  EXPECT_EQ(looks, 0);
}

}  // namespace
}  // namespace tutti::fabric
