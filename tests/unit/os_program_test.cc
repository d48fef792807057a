// SPDX-License-Identifier: BSD-3-Clause
#include "os/program.h"

#include <grp.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <vector>

#include "support/in_child.h"

namespace tutti::os {
namespace {

using test::in_child;  // groups and locks stay as they are here

// Not by mlock(), which a sanitizer has do nothing.
bool lock_a_page() {
  void* page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return page != MAP_FAILED && ::syscall(SYS_mlock, page, 4096) == 0;
}

TEST(HasPinnedMemory, OnlyWhereSomeIsLocked) {
  EXPECT_EQ(in_child([] { return !has_pinned_memory(); }), 0);
  EXPECT_EQ(in_child([] { return lock_a_page() && has_pinned_memory(); }), 0);
}

// Their list comes before what is looked for, and pushes it to any place of a piece.
TEST(HasPinnedMemory, OfAUserInManyGroups) {
  const gid_t one = 4'000'000'000u;
  if (in_child([&] { return ::setgroups(1, &one) == 0; }) != 0)
    GTEST_SKIP() << "only root may join groups";
  EXPECT_EQ(in_child([&] {
              std::vector<gid_t> groups(250, one);
              for (; groups.size() < 900; groups.push_back(one))
                for (gid_t digits = 1; digits < 1'000'000'000u; digits *= 10) {
                  groups[0] = digits;
                  if (::setgroups(groups.size(), groups.data()) != 0 || has_pinned_memory())
                    return false;
                }
              return lock_a_page() && has_pinned_memory();
            }),
            0);
}

}  // namespace
}  // namespace tutti::os
