// SPDX-License-Identifier: BSD-3-Clause
// Under `ulimit -v` the address space that the commons has reserved is the program's, too.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "commons_testing.h"
#include "os/limits.h"

namespace tutti::commons {
namespace {

using namespace testing;

constexpr std::size_t limit = 4096 * mib;

bool can_map(std::size_t bytes) {
  void* at = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return false;
  ::munmap(at, bytes);
  return true;
}

class CommonsLimit : public ::testing::Test {
 protected:
  void SetUp() override {
    if (TUTTI_SANITIZED) GTEST_SKIP() << "sanitizers need more address space";
    const rlimit less{limit, limit};
    ASSERT_EQ(::setrlimit(RLIMIT_AS, &less), 0);  // before the first allocation
  }
};

TEST_F(CommonsLimit, WhatIsReservedAndFreeIsGivenUp) {
  unsigned char* block = take(mib);
  ASSERT_NE(block, nullptr);
  write_pattern(block, mib, 1);
  const std::size_t before = handle().bytes;
  const std::size_t wanted = os::address_space_left_bytes() + before / 2;
  ASSERT_FALSE(can_map(wanted));
  EXPECT_TRUE(yield_address_space(wanted));
  EXPECT_TRUE(can_map(wanted));
  EXPECT_LT(handle().bytes, before);

  EXPECT_TRUE(has_pattern(block, mib, 1));
  EXPECT_EQ(take(before / 2), nullptr);
  release(block);
  block = take(mib);
  ASSERT_NE(block, nullptr);
  EXPECT_FALSE(yield_address_space(wanted)) << "a second time there is nothing to give";
  release(block);
}

TEST_F(CommonsLimit, MoreThanTheLimitIsNotTried) {
  release(take(mib));
  const std::size_t before = handle().bytes;
  EXPECT_FALSE(yield_address_space(2 * limit));
  EXPECT_EQ(handle().bytes, before);
}

TEST_F(CommonsLimit, AChildGivesUpItsPrivateCopyToo) {
  unsigned char* block = take(mib);
  write_pattern(block, mib, 1);
  const std::size_t reserved = reserved_bytes();
  const int child = in_child([&] {
    const std::size_t wanted = os::address_space_left_bytes() + reserved / 2;
    return !can_map(wanted) && yield_address_space(wanted) && can_map(wanted) &&
           has_pattern(block, mib, 1);
  });
  EXPECT_EQ(child, 0);
  EXPECT_EQ(reserved_bytes(), reserved);
  release(block);
}

// Private memory counts as soon as it may be written to, used or not, and memory of the file never.
TEST(CommonsPrivateLimit, WhatIsFreeIsGivenUp) {
  if (TUTTI_SANITIZED) GTEST_SKIP() << "sanitizers need more memory";
  const rlimit less{1024 * mib, 1024 * mib};
  ASSERT_EQ(::setrlimit(RLIMIT_DATA, &less), 0);  // of which the bookkeeping takes little
  unsigned char* block = take(512 * mib);
  unsigned char* behind = take(mib);
  ASSERT_TRUE(block != nullptr && behind != nullptr);
  const int child = in_child([&] {
    release(behind);
    release(block);
    const auto can_write = [](std::size_t bytes) {
      void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      return at != MAP_FAILED && ::munmap(at, bytes) == 0;
    };
    return !can_write(900 * mib) && yield_address_space(900 * mib) && can_write(900 * mib);
  });
  EXPECT_EQ(child, 0);
  release(behind);
  release(block);
}

TEST(CommonsNoLimit, NothingIsGivenUp) {
  release(take(mib));
  EXPECT_FALSE(yield_address_space(mib));
}

}  // namespace
}  // namespace tutti::commons
