// SPDX-License-Identifier: BSD-3-Clause
// Where large blocks have small pages, those that no collective uses are left to libc.
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <cerrno>
#include <string_view>

#include "commons/heap.h"
#include "commons_testing.h"
#include "os/huge_file.h"
#include "support/denied.h"

namespace tutti::commons {
namespace {

using namespace testing;

class CommonsLeft : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::string_view(options().commons_huge) == "0") GTEST_SKIP() << "TUTTI_COMMONS_HUGE=0";
    if (os::memfds_have_huge_pages()) GTEST_SKIP() << "shmem_enabled gives huge pages";
    test::deny({SYS_clone}, EPERM);  // and with it a user namespace
    ASSERT_TRUE(ready());
    detail::wanted_sizes.store(0);  // nothing of another test's
    decide_what_is_left();
  }
  // One of 40 MiB comes and goes; `use` sees it meanwhile.
  template <class Use>
  void pass_by(Use use) {
    unsigned char* block = take(40 * mib);
    ASSERT_NE(block, nullptr);
    use(block);
    release(block);
  }
};

TEST_F(CommonsLeft, AtFirstWhereLibcHasHugePages) {
  EXPECT_EQ(is_left(32 * mib), os::huge_pages_come_unasked());
  EXPECT_FALSE(is_left(32 * mib - 1));
  note_want(40 * mib);
  EXPECT_FALSE(is_left(32 * mib));
  EXPECT_FALSE(is_left(64 * mib)) << "which may hold it";
  EXPECT_EQ(is_left(128 * mib), os::huge_pages_come_unasked());
}

TEST_F(CommonsLeft, AfterOneThatNobodyUsed) {
  pass_by([](unsigned char*) {});
  EXPECT_TRUE(is_left(32 * mib) && is_left(63 * mib));
  EXPECT_FALSE(is_left(16 * mib));
  EXPECT_EQ(is_left(64 * mib), os::huge_pages_come_unasked());
}

TEST_F(CommonsLeft, NotAfterOneWithABufferInIt) {
  pass_by([](unsigned char* block) { note_offer(offset_of(block) + 39 * mib); });
  EXPECT_FALSE(is_left(40 * mib));
  pass_by([](unsigned char*) {});
  EXPECT_FALSE(is_left(40 * mib)) << "temporary ones of that size do not take it away again";
}

TEST_F(CommonsLeft, WhatIsOfferedIsForgottenWithItsBlock) {
  pass_by([](unsigned char* block) { note_offer(offset_of(block)); });
  unsigned char* larger = take(70 * mib);
  release(larger);
  EXPECT_TRUE(is_left(70 * mib));
}

TEST_F(CommonsLeft, NotWhatACollectiveHasWanted) {
  pass_by([](unsigned char*) {});
  note_want(33 * mib);
  EXPECT_FALSE(is_left(40 * mib));
  pass_by([](unsigned char*) {});
  EXPECT_FALSE(is_left(40 * mib));
}

TEST_F(CommonsLeft, SmallBuffersChangeNothing) {
  pass_by([](unsigned char*) {});
  note_want(1);
  note_want(mib);
  EXPECT_TRUE(is_left(40 * mib));
}

}  // namespace
}  // namespace tutti::commons
