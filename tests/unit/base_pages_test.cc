// SPDX-License-Identifier: BSD-3-Clause
// On a kernel with other pages than Tutti was built for.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/base.h"
#include "commons/commons.h"

namespace {

bool g_large = true;  // what this process is told of its pages

}  // namespace

// In the place of libc's.
extern "C" long sysconf(int name) noexcept {
  if (name == _SC_PAGESIZE && g_large) return 65536;
  return reinterpret_cast<decltype(&::sysconf)>(::dlsym(RTLD_NEXT, "sysconf"))(name);
}

namespace tutti {
namespace {

std::string warned() {
  testing::internal::CaptureStderr();
  warn_about_other_pages();
  return testing::internal::GetCapturedStderr();
}

TEST(OtherPages, SwitchEverythingOffAndAreNamed) {
  EXPECT_TRUE(options().off);
  EXPECT_EQ(commons::allocate(std::size_t{1} << 20, 1, false), nullptr);
  EXPECT_EQ(warned(),
            "tutti: pages of this kernel have 65536 bytes, and Tutti is built for 4096: it stays "
            "off, and the MPI does all\n");
}

TEST(OtherPages, AreNotSeenWhereThereAreNone) {
  g_large = false;
  if (::sysconf(_SC_PAGESIZE) != long{page_bytes}) GTEST_SKIP() << "there are, here";
  EXPECT_EQ(warned(), "");
}

}  // namespace
}  // namespace tutti
