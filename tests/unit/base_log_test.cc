// SPDX-License-Identifier: BSD-3-Clause
#include "base/log.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace tutti {
namespace {

int g_signals = 0;

// A launcher that ends the job closes the pipe before its ranks have said their last.
TEST(Log, EndsNobodyWhereNobodyReads) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  const int before = ::dup(STDERR_FILENO);
  const auto handler = ::signal(SIGPIPE, [](int) { ++g_signals; });
  ::dup2(ends[1], STDERR_FILENO);
  log::warn("for nobody");
  log::fatal("for nobody");
  sigset_t pending;
  ::sigpending(&pending);
  ::dup2(before, STDERR_FILENO);
  ::signal(SIGPIPE, handler);
  ::close(before);
  ::close(ends[1]);
  EXPECT_EQ(g_signals, 0);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
}

// A signal that somebody else has sent is theirs.
TEST(Log, LeavesASignalOfOthers) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  sigset_t pipe, mask, pending;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe, &mask);
  ::raise(SIGPIPE);
  const int before = ::dup(STDERR_FILENO);
  ::dup2(ends[1], STDERR_FILENO);
  log::warn("for nobody");
  ::dup2(before, STDERR_FILENO);
  ::close(before);
  ::close(ends[1]);
  ::sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 1);
  const timespec at_once{};
  EXPECT_EQ(::sigtimedwait(&pipe, nullptr, &at_once), SIGPIPE);
  ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
}

}  // namespace
}  // namespace tutti
