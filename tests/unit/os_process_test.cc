// SPDX-License-Identifier: BSD-3-Clause
#include "os/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <vector>

namespace tutti::os {
namespace {

// A child that sleeps until it is killed.
class Child {
 public:
  Child() : pid_(::fork()) {
    if (pid_ == 0)
      for (;;) ::pause();
  }
  ~Child() {
    if (pid_ <= 0) return;
    kill();
    reap();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void kill() { ::kill(pid_, SIGKILL); }
  // Until it is a zombie.
  void await_end() {
    siginfo_t info;
    ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT);
  }
  void reap() {
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_;
};

TEST(HasEnded, NotWhileItRuns) {
  Child child;
  EXPECT_FALSE(has_ended(child.pid()));
  EXPECT_FALSE(has_ended(::getpid()));
}

TEST(HasEnded, AZombieHas) {
  Child child;
  const pid_t pid = child.pid();
  child.kill();
  child.await_end();
  EXPECT_TRUE(has_ended(pid));
  child.reap();
  EXPECT_TRUE(has_ended(pid));
}

// A rank may be out of descriptors exactly when something went wrong.
TEST(HasEnded, IsKnownWithoutFreeDescriptors) {
  Child running, ended;
  const pid_t pid = ended.pid();
  ended.kill();
  ended.reap();
  rlimit usual;
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
  const rlimit few{64, usual.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<int> all;
  for (int fd; (fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) all.push_back(fd);
  const bool gone = has_ended(pid), runs = has_ended(running.pid());
  for (const int fd : all) ::close(fd);
  ::setrlimit(RLIMIT_NOFILE, &usual);
  EXPECT_TRUE(gone);
  EXPECT_FALSE(runs);
}

// A memfd can be opened again by /proc/PID/fd.
TEST(BorrowDescriptor, OfAMemfd) {
  const int mine = ::memfd_create("borrowed", MFD_CLOEXEC);
  ASSERT_GE(mine, 0);
  ASSERT_EQ(::write(mine, "tutti", 5), 5);
  Child child;
  const int theirs = borrow_descriptor(child.pid(), mine);
  ASSERT_GE(theirs, 0) << std::strerror(errno);
  EXPECT_NE(theirs, mine);
  EXPECT_EQ(::fcntl(theirs, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  // An open file of its own, hence an offset of its own, and the same bytes.
  char text[6] = "";
  EXPECT_EQ(::read(theirs, text, 5), 5);
  EXPECT_STREQ(text, "tutti");
  EXPECT_EQ(::pwrite(theirs, "T", 1, 0), 1);
  EXPECT_EQ(::pread(mine, text, 1, 0), 1);
  EXPECT_EQ(text[0], 'T');
  ::close(theirs);
  ::close(mine);
}

// A socket cannot be opened by /proc/PID/fd, so that pidfd_getfd must be what works.
TEST(BorrowDescriptor, OfWhatOnlyPidfdGives) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  Child child;
  const int theirs = borrow_descriptor(child.pid(), ends[1]);
  if (theirs < 0 && (errno == ENOSYS || errno == EPERM)) GTEST_SKIP() << std::strerror(errno);
  ASSERT_GE(theirs, 0) << std::strerror(errno);
  ASSERT_EQ(::write(ends[0], "x", 1), 1);
  char byte = 0;
  EXPECT_EQ(::read(theirs, &byte, 1), 1);
  EXPECT_EQ(byte, 'x');
  EXPECT_EQ(::fcntl(theirs, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  for (const int fd : {theirs, ends[0], ends[1]}) ::close(fd);
}

TEST(BorrowDescriptor, FailsWithTheReason) {
  Child child;
  EXPECT_EQ(borrow_descriptor(child.pid(), 999'999), -1);
  EXPECT_EQ(errno, EBADF);
  const pid_t pid = child.pid();
  child.kill();
  child.reap();
  EXPECT_EQ(borrow_descriptor(pid, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

TEST(CopyMemory, BothWaysAndOverEdges) {
  constexpr std::size_t bytes = (std::size_t{3} << 20) + 77;
  std::vector<char> mine(bytes), copy(bytes);
  for (std::size_t i = 0; i < bytes; ++i) mine[i] = static_cast<char>(i * 31 >> 3);
  Child child;  // has the same at the same address, privately
  const std::vector<char> original = mine;
  std::fill(mine.begin(), mine.end(), 0);
  const auto there = reinterpret_cast<std::uint64_t>(mine.data());
  ASSERT_TRUE(read_memory(child.pid(), copy.data() + 1, there + 1, bytes - 1).ok());
  EXPECT_EQ(std::memcmp(copy.data() + 1, original.data() + 1, bytes - 1), 0);

  std::fill(copy.begin(), copy.end(), 'w');
  ASSERT_TRUE(write_memory(child.pid(), there + 4095, copy.data(), 12'345).ok());
  ASSERT_TRUE(read_memory(child.pid(), copy.data(), there, bytes).ok());
  std::vector<char> expected = original;
  for (std::size_t i = 4095; i < 4095 + 12'345; ++i) expected[i] = 'w';
  EXPECT_EQ(copy, expected);
  EXPECT_TRUE(read_memory(child.pid(), nullptr, there, 0).ok());
}

// The kernel stops at the first page that cannot be reached and reports a short transfer.
TEST(CopyMemory, StopsAtUnmappedPages) {
  constexpr std::size_t page = 4096;
  auto* pages = static_cast<char*>(
      ::mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(::munmap(pages + 2 * page, page), 0);
  std::vector<char> copy(3 * page);
  Child child;
  const auto there = reinterpret_cast<std::uint64_t>(pages);
  EXPECT_TRUE(read_memory(child.pid(), copy.data(), there, 2 * page).ok());
  const Status read = read_memory(child.pid(), copy.data(), there, 3 * page);
  EXPECT_EQ(read.code, Code::system);
  EXPECT_EQ(read.error, EFAULT);
  const Status write = write_memory(child.pid(), there, copy.data(), 3 * page);
  EXPECT_EQ(write.error, EFAULT);
  ::munmap(pages, 2 * page);
}

TEST(CopyMemory, FailsOnceThePeerHasEnded) {
  Child child;
  const pid_t pid = child.pid();
  child.kill();
  child.reap();
  int word = 0;
  EXPECT_EQ(read_memory(pid, &word, reinterpret_cast<std::uint64_t>(&word), sizeof word).error,
            ESRCH);
}

}  // namespace
}  // namespace tutti::os
