// SPDX-License-Identifier: BSD-3-Clause
// Pages are touched by their owner before peers write to them: also those that have gone meanwhile.
#include <gtest/gtest.h>

#include "commons_testing.h"

namespace tutti::commons {
namespace {

using namespace testing;

TEST(CommonsPopulate, ThePagesOfABufferAndNoOther) {
  unsigned char* block = take(mib);
  const std::size_t before = resident_bytes();
  populate(block + 10 * 4096 + 5, 3 * 4096);  // parts of four pages
  if (resident_bytes() == before) GTEST_SKIP() << "before Linux 5.14";
  EXPECT_EQ(resident_bytes(), before + 4 * 4096);
  populate(block, mib);
  EXPECT_EQ(resident_bytes(), before + mib);
  EXPECT_TRUE(all_zero(block, mib));
  release(block);
}

TEST(CommonsPopulate, AgainAfterTheyHaveBeenGivenBack) {
  unsigned char* block = take(mib);
  const std::size_t before = resident_bytes();
  populate(block, mib);
  const std::size_t all = resident_bytes();
  if (all == before) GTEST_SKIP() << "before Linux 5.14";
  const std::uint64_t since = populated_since();
  release(block);
  trim();
  ASSERT_EQ(resident_bytes(), before);
  EXPECT_NE(populated_since(), since);
  unsigned char* next = take(mib);
  ASSERT_EQ(next, block);
  populate(next, mib);
  EXPECT_EQ(resident_bytes(), all);
  release(next);
}

TEST(CommonsPopulate, WhatIsElsewhereIsLeftAlone) {
  static unsigned char small[64];
  populate(small, sizeof small);
  populate(nullptr, 0);
}

}  // namespace
}  // namespace tutti::commons
