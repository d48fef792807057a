// SPDX-License-Identifier: BSD-3-Clause
// A file with huge pages for who has no rights, and a reason where the kernel refuses it.
#include "os/huge_file.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>

#include "base/bits.h"
#include "os/mapping.h"
#include "support/in_child.h"

namespace tutti::os {
namespace {

constexpr std::size_t huge = huge_page_bytes;

struct Made {
  FileId id;
  const char* why_not = "";
  int fd;
  explicit Made(std::size_t bytes = 64 * huge)
      : fd(create_huge_file("test", bytes, &id, &why_not)) {}
  ~Made() {
    if (fd >= 0) ::close(fd);
  }
};

std::size_t blocks_bytes(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 ? static_cast<std::size_t>(status.st_blocks) * 512 : 0;
}

using test::in_child;

// What the machine itself says on the matter, by another way than the code that is tested. No fork
// and unshare: ThreadSanitizer gives the child a thread, and who has threads may not unshare.
bool kernel_has_namespaces() {
  constexpr long flags = CLONE_NEWUSER | CLONE_NEWNS | SIGCHLD;
  const auto child = static_cast<pid_t>(::syscall(SYS_clone, flags, 0, 0, 0, 0));
  if (child == 0) ::syscall(SYS_exit_group, 0);
  return child > 0 && ::waitpid(child, nullptr, 0) == child;
}

TEST(HugeFile, IsThereWhereUserNamespacesAre) {
  const Made made;
  if (!kernel_has_namespaces()) {
    EXPECT_LT(made.fd, 0);
    EXPECT_STRNE(made.why_not, "");
    GTEST_SKIP() << made.why_not;
  }
  ASSERT_GE(made.fd, 0) << made.why_not;
  EXPECT_TRUE(refers_to(made.fd, made.id));
  struct stat status {};
  ASSERT_EQ(::fstat(made.fd, &status), 0);
  EXPECT_EQ(status.st_size, static_cast<off_t>(64 * huge));
  EXPECT_EQ(status.st_nlink, 0u) << "nothing has its name";
  EXPECT_EQ(status.st_uid, ::geteuid());
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(::fcntl(made.fd, F_GETFD), FD_CLOEXEC);
}

TEST(HugeFile, GivesHugePagesWhereAskedAndSmallOnesElsewhere) {
  const Made made;
  if (made.fd < 0) GTEST_SKIP() << made.why_not;
  auto* at = static_cast<unsigned char*>(map_range(made.fd, 64 * huge));
  ASSERT_NE(at, nullptr);
  ASSERT_TRUE(make_accessible(at, 64 * huge));
  prefer_huge_pages(at + huge, huge);
  at[0] = 1;
  EXPECT_EQ(blocks_bytes(made.fd), page_bytes);
  at[huge] = 1;
  EXPECT_EQ(blocks_bytes(made.fd), huge + page_bytes);
  at[2 * huge] = 1;
  EXPECT_EQ(blocks_bytes(made.fd), huge + 2 * page_bytes);
  unmap(at, 64 * huge);
}

// Another process of the same user opens it by /proc, as it would a memfd.
TEST(HugeFile, CanBeOpenedByAPeer) {
  const Made made;
  if (made.fd < 0) GTEST_SKIP() << made.why_not;
  const std::string path = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(made.fd);
  ASSERT_EQ(write_file_at(made.fd, huge, "x", 1), true);
  EXPECT_EQ(in_child([&] {
              char read = 0;
              const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
              return fd >= 0 && read_file_at(fd, huge, &read, 1) && read == 'x' &&
                     write_file_at(fd, 0, "y", 1);
            }),
            0);
  char read = 0;
  EXPECT_TRUE(read_file_at(made.fd, 0, &read, 1));
  EXPECT_EQ(read, 'y');
}

std::atomic<int> g_signals{0};

TEST(HugeFile, LeavesNeitherAChildNorASignalNorADescriptor) {
  struct sigaction counting {
  }, before{};
  counting.sa_handler = [](int) { ++g_signals; };
  ASSERT_EQ(::sigaction(SIGCHLD, &counting, &before), 0);
  const int lowest = ::dup(0);
  ::close(lowest);
  for (int i = 0; i < 5; ++i) const Made made;
  const int again = ::dup(0);
  ::close(again);
  EXPECT_EQ(again, lowest);
  EXPECT_EQ(g_signals.load(), 0);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG | __WALL), -1);
  EXPECT_EQ(errno, ECHILD);
  ASSERT_EQ(::sigaction(SIGCHLD, &before, nullptr), 0);
}

// An ordinary user, as most are; only root can become one here.
TEST(HugeFile, NeedsNoRights) {
  if (::geteuid() != 0) GTEST_SKIP() << "this user has none anyway";
  if (!kernel_has_namespaces()) GTEST_SKIP() << "no user namespaces";
  EXPECT_EQ(in_child([] {
              if (::setgroups(0, nullptr) != 0 || ::setgid(65534) != 0 || ::setuid(65534) != 0)
                return false;
              ::prctl(PR_SET_DUMPABLE, 1);  // as after exec
              const Made made;
              if (made.fd < 0) std::fprintf(stderr, "%s\n", made.why_not);
              return made.fd >= 0;
            }),
            0);
}

// What a container's profile does: clone with this flag is refused.
bool refuse_namespaces() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[0])),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_NEWUSER, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{sizeof filter / sizeof filter[0], filter};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(HugeFile, SaysWhyItIsRefused) {
  EXPECT_EQ(in_child([] {
              if (!refuse_namespaces()) return false;
              const Made made;
              return made.fd < 0 && std::strcmp(made.why_not, "user namespaces are refused") == 0 &&
                     ::waitpid(-1, nullptr, WNOHANG | __WALL) == -1;
            }),
            0);
}

// At every program's start, so it must be quick. The least of ten: others may have the processor.
TEST(HugeFile, TakesLessThanTwoMilliseconds) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "under a sanitizer all takes longer";
#endif
  using std::chrono::steady_clock;
  auto least = steady_clock::duration::max();
  for (int i = 0; i < 10; ++i) {
    const auto begin = steady_clock::now();
    const Made made;
    least = std::min(least, steady_clock::now() - begin);
  }
  EXPECT_LT(std::chrono::duration<double>(least).count(), 2e-3);
}

TEST(FreePageReporting, IsOnWhereAnOrderIsReported) {
  EXPECT_TRUE(is_reported_order("9\n"));
  EXPECT_TRUE(is_reported_order("10\n"));
  EXPECT_FALSE(is_reported_order("4294967295\n"));  // nobody has asked for reports
  EXPECT_FALSE(is_reported_order("11\n"));          // the same, Linux 5.14 to 6.0
  EXPECT_FALSE(is_reported_order(""));
}

}  // namespace
}  // namespace tutti::os
