// SPDX-License-Identifier: BSD-3-Clause
// After fork, each side has its own memory, as it was at the fork.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "commons_testing.h"

extern char** environ;

namespace tutti::commons {
namespace {

using namespace testing;

// What a parent and its child tell each other.
class Signal {
 public:
  Signal() { EXPECT_EQ(::pipe(ends_), 0); }
  ~Signal() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  void send() { EXPECT_EQ(::write(ends_[1], "x", 1), 1); }
  bool wait() {
    char c;
    return ::read(ends_[0], &c, 1) == 1;
  }

 private:
  int ends_[2];
};

int result_of(pid_t child) {
  int status = 0;
  if (::waitpid(child, &status, 0) != child) return -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

TEST(CommonsFork, NeitherSideSeesWhatTheOtherWrites) {
  unsigned char* block = take(3 * mib);
  write_pattern(block, 3 * mib, 1);
  Signal parent_wrote, child_wrote;
  const pid_t child = ::fork();
  if (child == 0) {
    bool good = parent_wrote.wait() && has_pattern(block, 3 * mib, 1);
    write_pattern(block, 3 * mib, 2);
    child_wrote.send();
    good = good && has_pattern(block, 3 * mib, 2);
    ::_exit(good ? 0 : 1);
  }
  write_pattern(block, 3 * mib, 3);
  parent_wrote.send();
  EXPECT_TRUE(child_wrote.wait());
  EXPECT_TRUE(has_pattern(block, 3 * mib, 3));
  EXPECT_EQ(result_of(child), 0);
  EXPECT_TRUE(has_pattern(block, 3 * mib, 3));
  release(block);
}

TEST(CommonsFork, TheChildAllocatesAndFreesOnItsOwn) {
  unsigned char* a = take(1 * mib);
  unsigned char* b = take(1 * mib);
  unsigned char* freed = take(8 * mib);
  write_pattern(a, 1 * mib, 1);
  write_pattern(b, 1 * mib, 2);
  std::memset(freed, 0xff, 8 * mib);
  release(freed);
  const auto child = [&] {
    if (!is_valid() || stats().blocks != 2) return false;
    release(a);
    unsigned char* c = take(6 * mib, true);
    if (c == nullptr || !all_zero(c, 6 * mib)) return false;
    std::memset(c, 0xee, 6 * mib);
    auto* d = static_cast<unsigned char*>(resize(b, 20 * mib));
    if (d == nullptr || !has_pattern(d, 1 * mib, 2)) return false;
    release(c);
    trim();
    c = take(6 * mib, true);
    if (!all_zero(c, 6 * mib) || !is_valid()) return false;
    release(c);
    release(d);
    // Farther than the parent ever went.
    c = take(300 * mib);
    std::memset(c, 1, 300 * mib);
    release(c);
    return is_valid() && stats().blocks == 0;
  };
  EXPECT_EQ(in_child(child), 0);
  EXPECT_TRUE(has_pattern(a, 1 * mib, 1));
  EXPECT_TRUE(has_pattern(b, 1 * mib, 2));
  EXPECT_TRUE(is_valid());
  EXPECT_EQ(stats().blocks, 2u);
  release(a);
  release(b);
}

TEST(CommonsFork, TheChildHasNothingToShareAndSaysSo) {
  unsigned char* block = take(1 * mib);
  EXPECT_TRUE(shared(block, 1 * mib));
  const int fd = handle().fd;
  EXPECT_EQ(in_child([&] {
              return handle().fd == -1 && std::strlen(handle().why_not) > 0 &&
                     !shared(block, 1 * mib) && owns(block) && ::fcntl(fd, F_GETFD) == -1;
            }),
            0);
  EXPECT_TRUE(shared(block, 1 * mib));
  EXPECT_EQ(handle().fd, fd);
  release(block);
}

TEST(CommonsFork, ThePagesOfTheParentAreNotTouchedByTheCopy) {
  trim();
  unsigned char* sparse = take(512 * mib);  // nearly all holes
  write_pattern(sparse + 100 * mib, 1 * mib, 4);
  const std::size_t before = resident_bytes();
  EXPECT_EQ(in_child([&] {
              return has_pattern(sparse + 100 * mib, 1 * mib, 4) && all_zero(sparse, 1 * mib);
            }),
            0);
  EXPECT_EQ(resident_bytes(), before);
  release(sparse);
}

TEST(CommonsFork, ChildrenOfTheChildAreCopiedByTheKernel) {
  unsigned char* block = take(1 * mib);
  write_pattern(block, 1 * mib, 1);
  const auto child = [&] {
    write_pattern(block, 1 * mib, 2);
    Signal written;
    const pid_t grandchild = ::fork();
    if (grandchild == 0) {
      const bool good = written.wait() && has_pattern(block, 1 * mib, 2) && is_valid();
      release(block);
      unsigned char* other = take(2 * mib, true);
      ::_exit(good && all_zero(other, 2 * mib) && is_valid() ? 0 : 1);
    }
    write_pattern(block, 1 * mib, 3);
    written.send();
    return result_of(grandchild) == 0 && has_pattern(block, 1 * mib, 3) && is_valid();
  };
  EXPECT_EQ(in_child(child), 0);
  EXPECT_TRUE(has_pattern(block, 1 * mib, 1));
  release(block);
}

TEST(CommonsFork, WhileOtherThreadsAllocate) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&stop, t] {
      for (std::uint64_t i = 0; !stop; ++i) {
        const std::size_t bytes = 40 * kib + (i + t) % 9 * 300 * kib;
        unsigned char* block = take(bytes, i % 3 == 0);
        write_pattern(block, bytes, i);
        if (!has_pattern(block, bytes, i)) std::abort();
        release(block);
      }
    });
  unsigned char* mine = take(2 * mib);
  for (unsigned round = 0; round < 60; ++round) {
    write_pattern(mine, 2 * mib, round);
    const int result = in_child([&] {
      if (!has_pattern(mine, 2 * mib, round) || !is_valid()) return false;
      unsigned char* block = take(3 * mib, true);
      const bool good = all_zero(block, 3 * mib);
      write_pattern(block, 3 * mib, 5);
      release(block);
      release(mine);
      return good && is_valid();
    });
    ASSERT_EQ(result, 0) << "round " << round;
    ASSERT_TRUE(is_valid());
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  release(mine);
  EXPECT_EQ(stats().blocks, 0u);
}

// What is guarded by a lock that pthread_atfork handlers hold across the fork is consistent in the
// child: nobody's handler releases anything before the child has its copy.
std::atomic<bool> guarding{false};
pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

TEST(CommonsFork, WhatHandlersGuardIsConsistentInTheChild) {
  watch_forks();
  ::pthread_atfork(
      [] {
        if (guarding) ::pthread_mutex_lock(&guard);
      },
      [] {
        if (guarding) ::pthread_mutex_unlock(&guard);
      },
      [] {
        if (guarding) ::pthread_mutex_unlock(&guard);
      });
  unsigned char* block = take(8 * mib);
  std::memset(block, 0, 8 * mib);
  guarding = true;
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (unsigned char i = 1; !stop; ++i) {
      ::pthread_mutex_lock(&guard);
      for (std::size_t at = 0; at < 8 * mib; at += 4096) block[at] = i;
      ::pthread_mutex_unlock(&guard);
    }
  });
  for (int round = 0; round < 40; ++round) {
    ASSERT_EQ(in_child([&] {
                for (std::size_t at = 0; at < 8 * mib; at += 4096)
                  if (block[at] != block[0]) return false;
                return true;
              }),
              0)
        << "round " << round;
  }
  stop = true;
  writer.join();
  guarding = false;
  release(block);
}

// Handlers that run between ours and the fork may allocate, and so may those in the child that run
// before ours.
TEST(CommonsFork, HandlersMayAllocate) {
  static unsigned char* kept = nullptr;
  static bool active = true;
  const auto handler = [] {
    if (!active) return;
    if (kept != nullptr) release(kept);
    kept = take(100 * kib, true);
    if (!all_zero(kept, 100 * kib)) std::abort();
    std::memset(kept, 1, 100 * kib);
  };
  ::pthread_atfork(handler, handler, handler);  // before watch_forks(): outside of ours
  unsigned char* block = take(1 * mib);
  ::pthread_atfork(handler, handler, handler);
  write_pattern(block, 1 * mib, 1);
  EXPECT_EQ(in_child([&] { return has_pattern(block, 1 * mib, 1) && is_valid(); }), 0);
  EXPECT_TRUE(is_valid());
  active = false;
  release(block);
}

// A child that somebody makes meanwhile, and not by fork, holds what is open.
TEST(CommonsFork, WhileAChildOfABareCloneIsMade) {
  static pid_t other = 0;
  ::pthread_atfork(  // before watch_forks(): it runs when ours has
      [] {
        if (other != 0) return;
        other = static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, 0));
        if (other != 0) return;
        ::pause();
        ::_exit(0);
      },
      nullptr, nullptr);
  unsigned char* block = take(1 * mib);
  write_pattern(block, 1 * mib, 1);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(has_pattern(block, 1 * mib, 1) ? 0 : 1);
  // Here it is over with the other one still there.
  EXPECT_EQ(result_of(child), 0);
  ASSERT_GT(other, 0);
  EXPECT_EQ(::waitpid(other, nullptr, WNOHANG), 0);
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
  release(block);
}

// As libraries of networks leave registered memory behind.
TEST(CommonsFork, WhereAFreedBlockWasNoneOfAChilds) {
  unsigned char* before = take(64 * kib);
  unsigned char* block = take(1 * mib);
  unsigned char* after = take(64 * kib);
  write_pattern(before, 64 * kib, 1);
  write_pattern(block, 1 * mib, 2);
  write_pattern(after, 64 * kib, 3);
  ASSERT_EQ(::madvise(block, 1 * mib, MADV_DONTFORK), 0);
  release(block);
  EXPECT_EQ(in_child([&] {
              unsigned char* const mine = take(1 * mib, true);
              return has_pattern(before, 64 * kib, 1) && has_pattern(after, 64 * kib, 3) &&
                     all_zero(mine, 1 * mib) && is_valid();
            }),
            0);
  release(before);
  release(after);
}

TEST(CommonsFork, SignalsAreAsTheyWereBefore) {
  unsigned char* block = take(1 * mib);
  sigset_t wanted, now;
  sigemptyset(&wanted);
  sigaddset(&wanted, SIGUSR1);
  ::pthread_sigmask(SIG_SETMASK, &wanted, nullptr);
  const auto as_wanted = [&] {
    ::pthread_sigmask(SIG_SETMASK, nullptr, &now);
    return sigismember(&now, SIGUSR1) == 1 && sigismember(&now, SIGUSR2) == 0 &&
           sigismember(&now, SIGTERM) == 0;
  };
  EXPECT_EQ(in_child(as_wanted), 0);
  EXPECT_TRUE(as_wanted());
  release(block);
}

std::uint64_t g_needed, g_left = ~std::uint64_t{0};
int g_reserved;

// What other processes have reserved counts, and whoever has reserved gives back, however it went.
TEST(CommonsFork, WhereThereIsMemoryForAllWhoDo) {
  static constexpr Reservation reservation{[](std::uint64_t bytes) {
                                             g_needed = bytes;
                                             if (bytes >= g_left) return false;
                                             ++g_reserved;
                                             return true;
                                           },
                                           [] { --g_reserved; }};
  reserve_with(reservation);
  unsigned char* block = take(3 * mib);
  write_pattern(block, 3 * mib, 1);
  for (const bool enough : {true, false}) {
    g_left = enough ? ~std::uint64_t{0} : g_needed;
    const pid_t child = ::fork();
    if (child == 0) {
      // What its parent has reserved is not its own to give back, when it forks itself.
      const int reserved = g_reserved;
      const bool same = in_child([] { return true; }) == 0 && g_reserved == reserved;
      ::_exit(same && has_pattern(block, 3 * mib, 1) ? 0 : 1);
    }
    EXPECT_EQ(result_of(child), enough ? 0 : 127);
    EXPECT_GE(g_needed, 3 * mib);
    EXPECT_EQ(g_reserved, 0);
  }
  release(block);
  g_left = ~std::uint64_t{0};
}

// fork() is no cancellation point: whoever is to be cancelled is so later.
TEST(CommonsFork, ByAThreadThatIsCancelled) {
  EXPECT_EQ(in_child([] {
              unsigned char* block = take(1 * mib);
              write_pattern(block, 1 * mib, 1);
              int status = -1;
              std::thread doomed([&] {
                ::pthread_cancel(::pthread_self());
                const pid_t child = ::fork();
                if (child == 0) ::_exit(has_pattern(block, 1 * mib, 1) ? 0 : 1);
                ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
                ::waitpid(child, &status, 0);
              });
              doomed.join();
              release(block);
              return take(1 * mib) != nullptr && status == 0 && is_valid();
            }),
            0);
}

TEST(CommonsFork, WithoutAFreeDescriptor) {
  unsigned char* block = take(1 * mib);
  write_pattern(block, 1 * mib, 1);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 3;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_EQ(in_child([&] { return has_pattern(block, 1 * mib, 1); }), 0);
  rlimit after{};
  EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_EQ(after.rlim_cur, 3u);
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_TRUE(shared(block, 1 * mib));
  release(block);
}

TEST(CommonsFork, DescriptorClosedByTheProgram) {
  unsigned char* a = take(2 * mib);
  unsigned char* hole = take(2 * mib);
  unsigned char* b = take(3 * mib);
  write_pattern(a, 2 * mib, 1);
  write_pattern(b, 3 * mib, 2);
  release(hole);
  const int fd = handle().fd;
  const int spare = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
  // Something else takes its number, as happens to programs that close "all" descriptors.
  char path[] = "/tmp/tutti_commons_XXXXXX";
  const int file = ::mkstemp(path);
  ASSERT_GE(file, 0);
  ::unlink(path);
  ASSERT_EQ(::write(file, "precious", 8), 8);
  ASSERT_EQ(::dup2(file, fd), fd);
  EXPECT_EQ(handle().fd, -1);
  EXPECT_GT(std::strlen(handle().why_not), 0u);
  EXPECT_EQ(in_child([&] {
              bool good = has_pattern(a, 2 * mib, 1) && has_pattern(b, 3 * mib, 2) && is_valid();
              unsigned char* c = take(2 * mib, true);
              good = good && all_zero(c, 2 * mib);
              write_pattern(a, 2 * mib, 7);
              release(b);
              trim();
              return good && is_valid() && ::fcntl(fd, F_GETFD) != -1;  // it is not ours to close
            }),
            0);
  EXPECT_TRUE(has_pattern(a, 2 * mib, 1));
  trim();  // must not punch a hole in the other file
  char text[9] = {};
  EXPECT_EQ(::pread(file, text, 8, 0), 8);
  EXPECT_STREQ(text, "precious");
  ASSERT_EQ(::dup3(spare, fd, O_CLOEXEC), fd);
  EXPECT_EQ(handle().fd, fd);
  release(a);
  release(b);
}

#if !TUTTI_SANITIZED  // the sanitizers do not support a bare clone
TEST(CommonsFork, ChildOfABareSystemCallIsSeparatedAtItsFirstOperation) {
  unsigned char* block = take(1 * mib);
  write_pattern(block, 1 * mib, 1);
  Signal child_ready;
  const auto child = static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
  if (child == 0) {
    unsigned char* other = take(1 * mib, true);
    bool good = other != nullptr && handle().fd == -1 && is_valid();
    child_ready.send();
    write_pattern(block, 1 * mib, 2);
    release(block);
    ::_exit(good ? 0 : 1);
  }
  EXPECT_TRUE(child_ready.wait());
  EXPECT_EQ(result_of(child), 0);
  EXPECT_TRUE(has_pattern(block, 1 * mib, 1));
  EXPECT_TRUE(is_valid());
  release(block);
}
#endif

TEST(CommonsSpawn, CostsNoCopyAndSharesNothing) {
  unsigned char* block = take(1 * mib);
  write_pattern(block, 1 * mib, 1);
  // The new program fails when it has inherited any memfd.
  const std::string script =
      "for f in /proc/self/fd/*; do case \"$(readlink $f)\" in "
      "*tutti-commons*) exit 9;; esac; done; exit 0";
  std::string arguments[] = {"sh", "-c", script};
  char* argv[] = {arguments[0].data(), arguments[1].data(), arguments[2].data(), nullptr};
  pid_t spawned;
  ASSERT_EQ(::posix_spawn(&spawned, "/bin/sh", nullptr, nullptr, argv, environ), 0);
  EXPECT_EQ(result_of(spawned), 0);
  const pid_t child = ::vfork();
  if (child == 0) {
    ::execv("/bin/sh", argv);
    ::_exit(99);
  }
  EXPECT_EQ(result_of(child), 0);
  const pid_t forked = ::fork();
  if (forked == 0) {
    ::execv("/bin/sh", argv);
    ::_exit(99);
  }
  EXPECT_EQ(result_of(forked), 0);
  EXPECT_TRUE(has_pattern(block, 1 * mib, 1));
  EXPECT_TRUE(shared(block, 1 * mib));
  release(block);
}

int forked_in_handler = -1;

// As those do that start a debugger. SIGSTKSZ was 8 KiB for long. Sanitizers take more of a stack.
TEST(CommonsFork, WorksOnTheSmallStackOfASignalHandler) {
  unsigned char* block = take(mib);
  write_pattern(block, mib, 1);
  constexpr std::size_t stack_bytes = (TUTTI_SANITIZED ? 256 : 8) * kib;
  auto* guarded = static_cast<char*>(
      ::mmap(nullptr, stack_bytes + 64 * kib, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_EQ(::mprotect(guarded + 64 * kib, stack_bytes, PROT_READ | PROT_WRITE), 0);
  const stack_t stack{guarded + 64 * kib, 0, stack_bytes};
  stack_t before{};
  ASSERT_EQ(::sigaltstack(&stack, &before), 0);
  struct sigaction action {};
  action.sa_flags = SA_ONSTACK;
  action.sa_handler = [](int) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(7);
    forked_in_handler = result_of(child);
  };
  ASSERT_EQ(::sigaction(SIGUSR1, &action, nullptr), 0);
  ::raise(SIGUSR1);
  EXPECT_EQ(forked_in_handler, 7);
  EXPECT_TRUE(has_pattern(block, mib, 1));
  ::sigaltstack(&before, nullptr);
  ::munmap(guarded, stack_bytes + 64 * kib);
  release(block);
}

ucontext_t caller, coroutine;

class CommonsForkStack : public OwnProcess {};

// As libraries of coroutines give their stacks.
TEST_F(CommonsForkStack, OfMallocEndsTheProcessWithASentence) {
  if (TUTTI_SANITIZED) GTEST_SKIP() << "sanitizers know no such stacks";
  const auto fork_there = [] {
    ::getcontext(&coroutine);
    coroutine.uc_stack.ss_sp = take(256 * kib);
    coroutine.uc_stack.ss_size = 256 * kib;
    coroutine.uc_link = &caller;
    ::makecontext(
        &coroutine, [] { (void)::fork(); }, 0);
    ::swapcontext(&caller, &coroutine);
    ::_exit(0);
  };
  EXPECT_DEATH(fork_there(), "forks on a stack that lies in memory that ranks share");
}

}  // namespace
}  // namespace tutti::commons
