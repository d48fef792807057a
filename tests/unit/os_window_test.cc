// SPDX-License-Identifier: BSD-3-Clause
// Another process's memory: what is forgotten comes back, children do without, and nobody makes the
// file under it smaller.
#include "os/window.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "base/bits.h"
#include "os/limits.h"
#include "os/mapping.h"
#include "os/memfd.h"

namespace tutti::os {
namespace {

constexpr std::size_t bytes = std::size_t{16} << 20;

class OsWindow : public ::testing::Test {
 protected:
  void SetUp() override {
    fd_ = create_memfd("test", bytes, &id_);
    ASSERT_GE(fd_, 0);
    ASSERT_TRUE(window_.map(fd_, bytes));
    window_.open_to(bytes);
    std::memset(window_.base(), 7, bytes);
  }
  void TearDown() override { ::close(fd_); }

  // Whether a child has it.
  bool is_inherited() {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(::msync(window_.base(), page_bytes, MS_ASYNC) == 0 ? 1 : 0);
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 1;
  }

  FileId id_;
  int fd_ = -1;
  Window window_;
};

TEST_F(OsWindow, NoTwoLieAtTheSamePlaceOfThePeriodInWhichAddressesAreAlike) {
  std::set<std::uintptr_t> places = {reinterpret_cast<std::uintptr_t>(window_.base()) %
                                     alias_bytes};
  std::vector<Window> windows(40);
  for (Window& window : windows) {
    ASSERT_TRUE(window.map(fd_, bytes));
    const auto at = reinterpret_cast<std::uintptr_t>(window.base());
    EXPECT_EQ(at % huge_page_bytes, 0u);
    EXPECT_TRUE(places.insert(at % alias_bytes).second);
  }
  for (Window& window : windows) window.unmap();
}

// Opened piece by piece, it needs one mapping more than before.
TEST_F(OsWindow, WhatCannotBeOpenedEndsTheProcessWithASentence) {
  constexpr std::size_t most = std::size_t{1} << 22, large_bytes = std::size_t{256} << 20;
  FileId id;
  const int fd = create_memfd("large", large_bytes, &id);
  Window window;
  ASSERT_TRUE(window.map(fd, large_bytes));
  ::close(fd);
  const auto open = [&] {
    // Neighbours that differ are a mapping each, as long as the kernel grants some.
    for (std::size_t i = 0; i < most; ++i)
      if (::mmap(nullptr, page_bytes, i % 2 == 0 ? PROT_READ : PROT_NONE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
        break;
    window.open_to(page_bytes);
    ::_exit(0);
  };
  EXPECT_DEATH(open(), "no memory to map [0-9]+ bytes of what ranks share .mprotect: ENOMEM.");
}

TEST_F(OsWindow, WhatIsForgottenIsNotResidentAndComesBack) {
  const auto before = resident_shared_bytes();
  ASSERT_TRUE(before);
  window_.forget();
  const auto after = resident_shared_bytes();
  ASSERT_TRUE(after);
  EXPECT_LE(*after + bytes, *before + (std::size_t{1} << 20));
  for (std::size_t at = 0; at < bytes; at += page_bytes)
    ASSERT_EQ(window_.base()[at], std::byte{7}) << at;
}

TEST_F(OsWindow, ChildrenDoWithoutWhereToldTo) {
  EXPECT_TRUE(is_inherited());
  window_.keep_from_children();
  EXPECT_FALSE(is_inherited());
}

// A peer that did could end this process with SIGBUS.
TEST_F(OsWindow, SizeOfAMemfdStays) {
  EXPECT_EQ(::ftruncate(fd_, page_bytes), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(::ftruncate(fd_, 2 * bytes), -1);
  EXPECT_EQ(::fcntl(fd_, F_ADD_SEALS, F_SEAL_WRITE), -1);
}

// Of /proc/self/status, in bytes.
std::size_t status_of_self(const char* name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind(name, 0) == 0) return std::stoul(line.substr(std::strlen(name))) << 10;
  return 0;
}

// What a child says of a window that it has mapped, and ends, after mlockall(MCL_FUTURE).
enum Said { all_right, not_permitted, no_window, resident, locked, not_zero };
Said end_locked(int fd, bool closes) {
  if (::mlockall(MCL_FUTURE) != 0) return not_permitted;
  Window window;
  const std::size_t locked_before = status_of_self("VmLck:");
  if (!window.map(fd, bytes)) return errno == EAGAIN ? not_permitted : no_window;
  window.open_to(bytes);
  window.forget();  // if the kernel has filled it
  const std::size_t before = status_of_self("VmRSS:");
  closes ? window.close() : window.blank();
  if (status_of_self("VmRSS:") > before + bytes / 4) return resident;
  if (status_of_self("VmLck:") > locked_before + bytes / 4) return locked;
  for (std::size_t at = 0; at < bytes && !closes; at += page_bytes)
    if (window.base()[at] != std::byte{0}) return not_zero;
  return all_right;
}

// The kernel fills new mappings after mlockall(MCL_FUTURE).
TEST_F(OsWindow, WhatHasEndedCostsNothingInALockedProcess) {
  for (const bool closes : {true, false}) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(end_locked(fd_, closes));
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFEXITED(status));
    if (WEXITSTATUS(status) == not_permitted) GTEST_SKIP() << "RLIMIT_MEMLOCK is too small";
    EXPECT_EQ(WEXITSTATUS(status), all_right) << (closes ? "closed" : "blank");
  }
}

TEST_F(OsWindow, WhatIsClosedIsNotReadAndNotInherited) {
  window_.keep_from_children();
  window_.close();
  EXPECT_TRUE(window_.is_blank());
  EXPECT_EQ(::write(fd_, window_.base(), 1), -1);
  EXPECT_EQ(errno, EFAULT);
  EXPECT_FALSE(is_inherited());
}

}  // namespace
}  // namespace tutti::os
