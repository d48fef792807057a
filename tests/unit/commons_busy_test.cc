// SPDX-License-Identifier: BSD-3-Clause
// A thread that the kernel has interrupted while it had the bookkeeping holds nobody up: others
// free without it, and are told soon to allocate elsewhere.
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "commons/heap.h"
#include "commons_testing.h"

namespace tutti::commons {
namespace {

using namespace testing;
using CommonsBusy = OwnProcess;

// Has the bookkeeping as long as it lives.
class Interrupted {
 public:
  Interrupted()
      : thread_([this] {
          const Guard guard;
          inside_ = true;
          inside_.notify_one();
          goes_on_.wait(false);
        }) {
    inside_.wait(false);
  }
  ~Interrupted() {
    goes_on_ = true;
    goes_on_.notify_one();
    thread_.join();
  }

 private:
  std::atomic<bool> inside_{false};
  std::atomic<bool> goes_on_{false};
  std::thread thread_;
};

TEST_F(CommonsBusy, NobodyWaitsForWhoWasInterruptedInside) {
  unsigned char* a = take(64 * kib);
  unsigned char* b = take(64 * kib);
  unsigned char* c = take(64 * kib);
  write_pattern(b, 64 * kib, 1);
  const std::uint64_t blocks = stats().blocks;
  {
    const Interrupted other;
    release(a);
    EXPECT_EQ(allocate(64 * kib, 1, false, Patience::some), nullptr);
    EXPECT_EQ(usable_bytes(b), 64 * kib);
    EXPECT_FALSE(resize_in_place(b, 128 * kib, Patience::some));
    EXPECT_EQ(resize(b, 128 * kib, Patience::some), nullptr);
    EXPECT_EQ(resize(b, 16 * kib, Patience::some), b) << "it stays as large as it is";
    EXPECT_TRUE(has_pattern(b, 64 * kib, 1));
    release(c);
    tend();
  }
  EXPECT_EQ(stats().blocks, blocks - 2);
  EXPECT_TRUE(is_valid());
  EXPECT_EQ(take(64 * kib), a) << "what was freed meanwhile is used again";
  release(a);
  release(b);
  trim();
  EXPECT_EQ(stats().resident_free, 0u);
  EXPECT_TRUE(is_valid());
}

TEST_F(CommonsBusy, WhatIsFreedTwiceIsFound) {
  unsigned char* block = take(64 * kib);
  EXPECT_EQ(in_child([&] {
              const Interrupted other;
              release(block);
              release(block);
              return true;
            }),
            128 + SIGABRT);
  EXPECT_EQ(in_child([&] {
              {
                const Interrupted other;
                release(block);
              }
              release(block);
              return true;
            }),
            128 + SIGABRT);
  EXPECT_EQ(in_child([&] {
              const Interrupted other;
              release(block);
              return usable_bytes(block) > 0;
            }),
            128 + SIGABRT);
  release(block);
}

TEST_F(CommonsBusy, ContentsAreRightWhateverIsHandedOver) {
  constexpr int threads = 8;
  std::atomic<int> left{threads};
  std::atomic<unsigned char*> hands[8] = {};
  std::atomic<bool> good{true};
  std::vector<std::thread> workers;
  // Blocks of 8 KiB and more tell their own size and tag.
  const auto check_and_release = [&](unsigned char* block) {
    std::uint64_t tag = 0;
    if (block == nullptr) return;
    std::memcpy(&tag, block + 1024, 8);
    if (!has_pattern(block, usable_bytes(block), tag)) good = false;
    release(block);
  };
  for (unsigned t = 0; t < threads; ++t)
    workers.emplace_back([&, t] {
      std::mt19937 random(t);
      for (std::uint64_t i = 0; i < 1000; ++i) {
        auto* block = static_cast<unsigned char*>(
            allocate(8 * kib << random() % 6, 1, false, Patience::some));
        if (block != nullptr) {
          const std::uint64_t tag = t * 1000000u + i;
          write_pattern(block, usable_bytes(block), tag);
          std::memcpy(block + 1024, &tag, 8);
        }
        check_and_release(hands[random() % 8].exchange(block));
      }
      --left;
    });
  while (left > 0) {
    {
      const Guard guard;
      std::this_thread::yield();
    }
    if (!is_valid()) good = false;
  }
  for (std::thread& worker : workers) worker.join();
  for (std::atomic<unsigned char*>& hand : hands) check_and_release(hand);
  EXPECT_TRUE(good);
  EXPECT_EQ(stats().blocks, 0u);
  EXPECT_TRUE(is_valid());
}

// Blocks and punched pages are handed over while others hold everything up.
TEST_F(CommonsBusy, WhileOthersForkAndTrim) {
  watch_forks();  // before there are threads, as the preload does
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&stop, t] {
      for (std::uint64_t i = 0; !stop; ++i) {
        const std::size_t bytes = 3 * mib + (i + t) % 9 * 300 * kib;
        auto* block = static_cast<unsigned char*>(allocate(bytes, 1, true, Patience::some));
        if (block == nullptr) continue;
        if (!all_zero(block, 64 * kib)) std::abort();
        write_pattern(block, 64 * kib, i);
        if (!has_pattern(block, 64 * kib, i)) std::abort();
        release(block);
        if (i % 16 == t) trim();
      }
    });
  for (unsigned round = 0; round < 20; ++round) {
    const int result = in_child([&] {
      if (!is_valid()) return false;
      unsigned char* block = take(3 * mib, true);
      const bool zero = all_zero(block, 3 * mib);
      release(block);
      return zero && is_valid();
    });
    ASSERT_EQ(result, 0) << "round " << round;
    ASSERT_TRUE(is_valid());
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(stats().blocks, 0u);
}

// In a handler that runs while the forking thread has the bookkeeping, it waits for another thread,
// which frees a block first.
std::atomic<unsigned char*> to_be_freed{nullptr};

TEST_F(CommonsBusy, AForkingThreadMayWaitForOneThatFrees) {
  ::pthread_atfork(
      [] {
        unsigned char* block = to_be_freed;
        if (block != nullptr) to_be_freed.wait(block);
      },
      nullptr, nullptr);  // before watch_forks(): outside of ours
  unsigned char* block = take(1 * mib);
  unsigned char* kept = take(1 * mib);
  write_pattern(kept, 1 * mib, 1);
  to_be_freed = block;
  std::atomic<bool> over{false};
  std::thread other([&] {
    while (heap.forker == 0) std::this_thread::yield();
    release(block);
    to_be_freed = nullptr;
    to_be_freed.notify_one();
    over.wait(false);
  });
  EXPECT_EQ(
      in_child([&] { return stats().blocks == 1 && is_valid() && has_pattern(kept, 1 * mib, 1); }),
      0);
  over = true;
  over.notify_one();
  other.join();
  EXPECT_EQ(stats().blocks, 1u);
  EXPECT_TRUE(is_valid());
  release(kept);
}

}  // namespace
}  // namespace tutti::commons
