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
    trim();                 // what others have left would be taken first
    decide_what_is_left();  // and nothing of another test's is known
    detail::calls_tell = false;
  }
  // So many blocks, one after the other, that find no pages; `use` sees each.
  template <class Use>
  void pass_by(std::size_t bytes, int blocks, Use use) {
    for (int i = 0; i < blocks; ++i) {
      unsigned char* block = take_as_malloc(bytes);
      ASSERT_NE(block, nullptr);
      use();
      release(block);
      trim();
    }
  }
  void pass_by(std::size_t bytes, int blocks) {
    pass_by(bytes, blocks, [] {});
  }
  static unsigned char* take_as_malloc(std::size_t bytes) {
    return static_cast<unsigned char*>(allocate(bytes, 1, false, Patience::some));
  }
};

TEST_F(CommonsLeft, AtFirstWhereLibcHasHugePages) {
  EXPECT_EQ(is_left(32 * mib), os::huge_pages_come_unasked());
  EXPECT_FALSE(is_left(32 * mib - 1));
  note_use(40 * mib);
  EXPECT_FALSE(is_left(32 * mib));
  EXPECT_FALSE(is_left(64 * mib)) << "which may hold it";
  EXPECT_EQ(is_left(128 * mib), os::huge_pages_come_unasked());
}

TEST_F(CommonsLeft, AfterOneThatNobodyUses) {
  pass_by(40 * mib, 1);
  EXPECT_TRUE(is_left(32 * mib) && is_left(63 * mib));
  EXPECT_FALSE(is_left(16 * mib));
  EXPECT_EQ(is_left(64 * mib), os::huge_pages_come_unasked());
}

TEST_F(CommonsLeft, AfterSmallerOnesInTheMidstOfWork) {
  pass_by(mib, 8);
  EXPECT_FALSE(is_left(mib));
  note_calls(99);
  pass_by(mib, 1);
  EXPECT_FALSE(is_left(mib));
  note_calls(100);
  pass_by(mib, 1);
  EXPECT_TRUE(is_left(mib) && is_left(2 * mib - 1));
  EXPECT_FALSE(is_left(mib - 1) || is_left(2 * mib));
}

TEST_F(CommonsLeft, NotWhatFindsItsPages) {
  note_calls(100);
  unsigned char* block = take_as_malloc(mib);
  release(block);
  for (int i = 0; i < 100; ++i) {
    block = take_as_malloc(mib);
    release(block);
  }
  EXPECT_FALSE(is_left(mib));
}

TEST_F(CommonsLeft, NotSmallOnes) {
  note_calls(100);
  pass_by(40 * kib, 100);
  EXPECT_FALSE(is_left(40 * kib));
}

TEST_F(CommonsLeft, TemporaryOnesThatAreUsedOnce) {
  pass_by(40 * mib, 3, [] { note_use(40 * mib); });
  EXPECT_TRUE(is_left(40 * mib));
}

TEST_F(CommonsLeft, NotThoseThatAreUsedOften) {
  pass_by(40 * mib, 3, [] {
    for (int i = 0; i < 4; ++i) note_use(40 * mib);
  });
  EXPECT_FALSE(is_left(40 * mib));
  pass_by(40 * mib, 1);
  EXPECT_TRUE(is_left(40 * mib));
  for (int i = 0; i < 4; ++i) note_use(33 * mib);
  EXPECT_TRUE(is_left(40 * mib));
  note_use(33 * mib);
  EXPECT_FALSE(is_left(40 * mib)) << "libc's tell, too";
}

TEST_F(CommonsLeft, BuffersOfOtherSizesChangeNothing) {
  pass_by(40 * mib, 1);
  for (int i = 0; i < 1000; ++i) note_use(1), note_use(mib);
  EXPECT_TRUE(is_left(40 * mib));
}

TEST_F(CommonsLeft, NotWhatMustBeHere) {
  release(take(40 * mib));
  EXPECT_EQ(is_left(40 * mib), os::huge_pages_come_unasked());
}

}  // namespace
}  // namespace tutti::commons
