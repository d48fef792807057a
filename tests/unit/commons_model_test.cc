// SPDX-License-Identifier: BSD-3-Clause
// Random operations, by one thread and by many, against a shadow of what each block must hold.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "commons_testing.h"

namespace tutti::commons {
namespace {

using namespace testing;

struct Shadow {
  unsigned char* block;
  std::size_t bytes;
  std::uint64_t tag;
};

class Player {
 public:
  explicit Player(unsigned seed) : random_(seed), tag_(std::uint64_t{seed} << 32) {}
  ~Player() {
    while (!blocks_.empty()) release_one();
  }

  // False as soon as something is not as it must be.
  bool play(int steps) {
    for (int i = 0; i < steps; ++i) {
      const unsigned what = random_() % 10;
      const bool good = what < 4 || blocks_.empty() ? allocate_one()
                        : what < 7                  ? release_one()
                                                    : resize_one();
      if (!good) return false;
      while (blocks_.size() > 40)
        if (!release_one()) return false;
    }
    return true;
  }

 private:
  std::size_t any_bytes() {
    return 32 * kib + random_() % (random_() % 8 == 0 ? 4 * mib : 200 * kib);
  }

  bool allocate_one() {
    const bool zero = random_() % 3 == 0;
    const std::size_t alignment = std::size_t{1} << random_() % 23;
    const std::size_t bytes = any_bytes();
    auto* block = static_cast<unsigned char*>(allocate(bytes, alignment, zero));
    if (block == nullptr || reinterpret_cast<std::uintptr_t>(block) % alignment != 0) return false;
    if (!owns(block) || usable_bytes(block) < bytes || usable_bytes(block) >= bytes + 4096)
      return false;
    if (zero && !all_zero(block, bytes)) return false;
    remember(block, bytes);
    return true;
  }

  bool release_one() {
    const Shadow shadow = forget();
    if (!has_pattern(shadow.block, shadow.bytes, shadow.tag)) return false;
    release(shadow.block);
    return true;
  }

  bool resize_one() {
    const Shadow shadow = forget();
    const std::size_t bytes = any_bytes();
    auto* block = static_cast<unsigned char*>(resize(shadow.block, bytes));
    if (block == nullptr || !has_pattern(block, std::min(bytes, shadow.bytes), shadow.tag))
      return false;
    remember(block, bytes);
    return true;
  }

  void remember(unsigned char* block, std::size_t bytes) {
    write_pattern(block, bytes, ++tag_);
    blocks_.push_back({block, bytes, tag_});
  }
  Shadow forget() {
    std::swap(blocks_[random_() % blocks_.size()], blocks_.back());
    const Shadow shadow = blocks_.back();
    blocks_.pop_back();
    return shadow;
  }

  std::mt19937 random_;
  std::uint64_t tag_;
  std::vector<Shadow> blocks_;
};

TEST(CommonsModel, OneThread) {
  const Stats before = stats();
  {
    Player player(1);
    for (int batch = 0; batch < 60; ++batch) {
      ASSERT_TRUE(player.play(100)) << "batch " << batch;
      ASSERT_TRUE(is_valid()) << "batch " << batch;
    }
  }
  EXPECT_EQ(stats().blocks, before.blocks);
  EXPECT_EQ(stats().bytes, before.bytes);
  EXPECT_TRUE(is_valid());
}

TEST(CommonsModel, ManyThreads) {
  std::atomic<int> good{0};
  constexpr int threads = 8;
  std::vector<std::thread> players;
  for (unsigned i = 0; i < threads; ++i)
    players.emplace_back([&good, i] {
      Player player(100 + i);
      bool all = true;
      for (int batch = 0; batch < 10; ++batch) all = all && player.play(60) && is_valid();
      good += all;
    });
  for (std::thread& player : players) player.join();
  EXPECT_EQ(good, threads);
  EXPECT_EQ(stats().blocks, 0u);
  EXPECT_TRUE(is_valid());
}

// One thread makes what another one frees.
TEST(CommonsModel, BlocksChangeHands) {
  std::atomic<unsigned char*> hand{nullptr};
  constexpr int rounds = 4000;
  std::atomic<bool> good{true};
  std::thread giver([&] {
    for (int i = 0; i < rounds; ++i) {
      unsigned char* block = take(40 * kib + static_cast<std::size_t>(i) % 7 * 8 * kib);
      write_pattern(block, 40 * kib, static_cast<std::uint64_t>(i));
      unsigned char* none = nullptr;
      while (!hand.compare_exchange_weak(none, block, std::memory_order_release)) {
        none = nullptr;
        std::this_thread::yield();
      }
    }
  });
  for (int i = 0; i < rounds; ++i) {
    unsigned char* block = nullptr;
    while ((block = hand.exchange(nullptr, std::memory_order_acquire)) == nullptr)
      std::this_thread::yield();
    if (!has_pattern(block, 40 * kib, static_cast<std::uint64_t>(i))) good = false;
    release(block);
  }
  giver.join();
  EXPECT_TRUE(good);
  EXPECT_TRUE(is_valid());
}

TEST(CommonsZero, MemoryThatWasUsedBeforeIsZeroed) {
  for (std::size_t bytes : {32 * kib, 100 * kib, 3 * mib}) {
    unsigned char* dirty = take(bytes);
    std::memset(dirty, 0xff, bytes);
    release(dirty);
    // Beyond what is dirty, so that the block is partly old and partly new.
    unsigned char* block = take(bytes + 10 * mib, true);
    ASSERT_TRUE(all_zero(block, bytes + 10 * mib));
    std::memset(block, 0xff, bytes + 10 * mib);
    release(block);
    block = take(bytes, true);
    ASSERT_TRUE(all_zero(block, bytes));
    release(block);
  }
}

TEST(CommonsZero, SlackThatBecameDirtyIsNotTakenForClean) {
  unsigned char* block = take(64 * kib);
  unsigned char* behind = take(64 * kib);  // so that growing moves the block and gives it slack
  block = static_cast<unsigned char*>(resize(block, 128 * kib));
  block = static_cast<unsigned char*>(resize(block, 500 * kib));  // into the slack
  std::memset(block, 0xff, usable_bytes(block));
  ASSERT_TRUE(resize_in_place(block, 100 * kib));
  std::vector<unsigned char*> others;
  for (int i = 0; i < 60; ++i) {
    others.push_back(take(40 * kib, true));
    ASSERT_TRUE(all_zero(others.back(), 40 * kib));
  }
  for (unsigned char* other : others) release(other);
  release(block);
  release(behind);
  unsigned char* all = take(4 * mib, true);
  EXPECT_TRUE(all_zero(all, 4 * mib));
  release(all);
}

TEST(CommonsWrong, AddressesThatAreNoBlocksEndTheProcess) {
  unsigned char* block = take(64 * kib);
  EXPECT_EQ(in_child([&] { return release(block + 4096), true; }), 128 + SIGABRT);
  EXPECT_EQ(in_child([&] { return release(block + 16), true; }), 128 + SIGABRT);
  EXPECT_EQ(in_child([&] { return release(block), release(block), true; }), 128 + SIGABRT);
  release(block);
}

TEST(CommonsThreshold, SmallBlocksAreNotServed) {
  (void)handle();
  const std::size_t threshold = options().commons_threshold;
  EXPECT_TRUE(may_serve(threshold));
  EXPECT_FALSE(may_serve(threshold - 1));
  EXPECT_EQ(take(threshold - 1), nullptr);
  EXPECT_EQ(take(0), nullptr);
  EXPECT_EQ(take(~std::size_t{0}), nullptr);
  EXPECT_EQ(allocate(32 * kib, std::size_t{1} << 62, false), nullptr);
  int outside = 0;
  EXPECT_FALSE(owns(&outside));
  EXPECT_FALSE(owns(nullptr));
}

TEST(CommonsErrno, IsKept) {
  errno = 42;
  unsigned char* block = take(64 * kib);
  release(block);
  (void)take(~std::size_t{0} / 2);
  trim();
  EXPECT_EQ(errno, 42);
}

}  // namespace
}  // namespace tutti::commons
