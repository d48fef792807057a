// SPDX-License-Identifier: BSD-3-Clause
#include "os/mutex.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace tutti::os {
namespace {

constexpr std::int64_t millisecond_ns = 1'000'000;

TEST(Mutex, PatienceEnds) {
  Mutex mutex;
  ASSERT_TRUE(mutex.lock_within(0));
  EXPECT_FALSE(mutex.lock_within(0));
  EXPECT_FALSE(mutex.lock_within(millisecond_ns));
  mutex.unlock();
  EXPECT_TRUE(mutex.lock_within(millisecond_ns));
  mutex.unlock();
}

// Whoever gives up must not take another one's turn with it: then that one would sleep for ever.
TEST(Mutex, WhoWaitsIsWokenThoughOthersGiveUp) {
  Mutex mutex;
  long inside = 0;
  std::atomic<long> entered{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 2000; ++i) {
        if (t < 4)
          mutex.lock();
        else if (!mutex.lock_within((i % 4) * 10'000))
          continue;
        ++inside;
        if (i % 64 == 0) std::this_thread::yield();
        mutex.unlock();
        ++entered;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(inside, entered);
  EXPECT_GE(inside, 4 * 2000);
}

}  // namespace
}  // namespace tutti::os
