// SPDX-License-Identifier: BSD-3-Clause
// Where blocks are private memory until collectives use them.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string_view>
#include <thread>
#include <vector>

#include "commons/heap.h"
#include "commons_testing.h"
#include "os/mapping.h"

namespace tutti::commons {
namespace {

using namespace testing;

// Before anybody asks for options.
const bool is_private_first = ::setenv("TUTTI_COMMONS_PRIVATE", "1", 1) == 0;

class CommonsSharing : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(ready());
    ASSERT_TRUE(is_private_first && heap.private_first);
    trim();
  }
  void TearDown() override { EXPECT_TRUE(is_valid()); }

  static unsigned char* take_as_malloc(std::size_t bytes, bool zero = false) {
    return static_cast<unsigned char*>(allocate(bytes, 1, zero, Patience::some));
  }
  static const std::byte* offer_often(const void* buffer, std::size_t bytes, bool full = true) {
    for (int i = 1; i < telling_uses; ++i) EXPECT_EQ(offer(buffer, bytes, full), nullptr) << i;
    return offer(buffer, bytes, full);
  }
  // What a peer would see of it.
  static bool is_in_file(const unsigned char* block, std::size_t bytes) {
    const std::size_t offset = offset_of(block);
    auto* seen = static_cast<unsigned char*>(
        ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, handle().fd, static_cast<off_t>(offset)));
    if (seen == MAP_FAILED) return false;
    const bool same = std::memcmp(seen, block, bytes) == 0;
    ::munmap(seen, bytes);
    return same;
  }
};

TEST_F(CommonsSharing, WhenUsedOften) {
  constexpr std::size_t bytes = 5 * mib + 100;
  unsigned char* block = take_as_malloc(bytes);
  write_pattern(block, bytes, 1);
  EXPECT_EQ(shared(block, bytes), nullptr);
  const std::size_t before = resident_bytes();
  EXPECT_EQ(offer_often(block, bytes), reinterpret_cast<std::byte*>(block));
  EXPECT_TRUE(has_pattern(block, bytes, 1));
  EXPECT_TRUE(is_in_file(block, 5 * mib));
  EXPECT_GE(resident_bytes(), before + 5 * mib);
  block[3 * mib] = 77;
  EXPECT_TRUE(is_in_file(block, 5 * mib));
  EXPECT_NE(shared(block + 1000, 4 * mib), nullptr);
  EXPECT_NE(offer(block + 1000, 4 * mib), nullptr);
  release(block);
  trim();
  EXPECT_LE(resident_bytes(), before);
  EXPECT_EQ(heap.file_pages.load() * page_bytes, stats().in_file);
}

// Of pages of the file, that is, of which there may be some thousand at once.
TEST_F(CommonsSharing, RunsThatAreGoneDoNotCount) {
  constexpr std::size_t bytes = 128 * kib;
  std::vector<unsigned char*> blocks(200);
  for (int round = 0; round < 60; ++round) {
    for (unsigned char*& block : blocks) block = take_as_malloc(bytes);
    for (unsigned char* block : blocks) ASSERT_NE(offer_often(block, bytes), nullptr) << round;
    for (unsigned char* block : blocks) release(block);
    trim();
  }
}
TEST_F(CommonsSharing, RunsThatAreThereDo) {
  std::vector<unsigned char*> blocks(2 * 8192 + 200);
  for (unsigned char*& block : blocks) block = take_as_malloc(16 * kib);
  std::size_t moved = 0;
  for (std::size_t i = 0; i < blocks.size(); i += 2) {
    const bool is_there = offer_often(blocks[i], 16 * kib) != nullptr;
    if (is_there != (moved < 8192)) FAIL() << "of " << moved;
    moved += is_there;
  }
  EXPECT_EQ(moved, 8192u);
  for (unsigned char* block : blocks) release(block);
  trim();
  bool is_there = false;  // they are not counted at each refusal
  for (int i = 0; i < 1024 && !is_there; ++i) {
    unsigned char* block = take_as_malloc(mib);
    is_there = offer_often(block, mib) != nullptr;
    release(block);
  }
  EXPECT_TRUE(is_there);
}

// One large buffer leaves pages of the file, of which then every other one is given back.
TEST_F(CommonsSharing, RunsThatComeOfOneDo) {
  constexpr std::size_t each = 16 * kib, many = 2 * 8192 + 200;
  unsigned char* const other = take_as_malloc(each * many);  // so that as much may stay
  unsigned char* const large = take_as_malloc(each * many);
  ASSERT_NE(offer_often(large, each * many), nullptr);
  std::memset(large, 1, each * many);
  release(large);
  std::vector<unsigned char*> blocks(many);
  for (unsigned char*& block : blocks) block = take_as_malloc(each);
  EXPECT_NE(shared(blocks[many / 2], each), nullptr);
  for (std::size_t i = 0; i < many; i += 2) release(blocks[i]);
  trim();
  unsigned char* block = take_as_malloc(mib);
  EXPECT_EQ(offer_often(block, mib), nullptr);
  release(block);
  for (std::size_t i = 1; i < many; i += 2) release(blocks[i]);
  release(other);
}

TEST_F(CommonsSharing, NothingIsInTheFileBefore) {
  const std::size_t before = resident_bytes();
  unsigned char* block = take_as_malloc(8 * mib);
  write_pattern(block, 8 * mib, 2);
  for (int i = 1; i < telling_uses; ++i) EXPECT_EQ(offer(block, 8 * mib), nullptr);
  EXPECT_EQ(resident_bytes(), before);
  release(block);
}

TEST_F(CommonsSharing, UntouchedPagesStayHoles) {
  constexpr std::size_t bytes = 4 * mib;
  const std::size_t before = resident_bytes();
  unsigned char* block = take_as_malloc(bytes);
  block[mib] = 1;
  ASSERT_NE(offer_often(block, bytes), nullptr);
  EXPECT_LE(resident_bytes(), before + 64 * kib);
  EXPECT_EQ(block[mib], 1);
  EXPECT_TRUE(all_zero(block, mib));
  release(block);
}

// Another thread may write to the rest of a page.
TEST_F(CommonsSharing, NotPagesThatHoldSomethingElse) {
  constexpr std::size_t bytes = 2 * mib + 500;
  unsigned char* block = take_as_malloc(bytes);
  EXPECT_EQ(offer_often(block + 8, bytes - 8), nullptr) << "a header";
  EXPECT_EQ(offer_often(block, bytes - 1), nullptr) << "a tail";
  EXPECT_EQ(shared(block, bytes), nullptr);
  release(block);
}
TEST_F(CommonsSharing, NotWhatIsNotFull) {
  unsigned char* block = take_as_malloc(mib);
  for (int i = 0; i < 2 * telling_uses; ++i) EXPECT_EQ(offer(block, mib, false), nullptr);
  EXPECT_NE(offer_often(block, mib), nullptr);
  EXPECT_NE(offer(block, mib, false), nullptr) << "it is there now";
  release(block);
}
TEST_F(CommonsSharing, NotWhatTheProgramSaysItUses) {
  unsigned char* block = take_as_malloc(mib - 100);
  EXPECT_EQ(usable_bytes(block), mib);
  EXPECT_EQ(offer_often(block, mib - 100), nullptr);
  release(block);
}
TEST_F(CommonsSharing, WholePagesInside) {
  unsigned char* block = take_as_malloc(3 * mib);
  write_pattern(block, 3 * mib, 3);
  EXPECT_NE(offer_often(block + mib, mib), nullptr);
  EXPECT_EQ(shared(block, 3 * mib), nullptr);
  EXPECT_EQ(shared(block + mib - 1, mib), nullptr);
  EXPECT_NE(shared(block + mib, mib), nullptr);
  EXPECT_TRUE(has_pattern(block, 3 * mib, 3));
  EXPECT_NE(offer_often(block, 3 * mib), nullptr) << "and then the rest";
  EXPECT_TRUE(has_pattern(block, 3 * mib, 3));
  release(block);
}
TEST_F(CommonsSharing, TheEndThatWasAskedFor) {
  unsigned char* block = take_as_malloc(mib);
  ASSERT_TRUE(resize_in_place(block, mib - 5000));
  EXPECT_NE(offer_often(block, mib - 5000), nullptr);
  release(block);
}

// Of a size whose buffers cannot be moved.
TEST_F(CommonsSharing, TheNextBlocksFromTheStart) {
  constexpr std::size_t bytes = 700 * kib;
  unsigned char* block = take_as_malloc(bytes);
  EXPECT_EQ(shared(block, bytes), nullptr);
  EXPECT_EQ(offer_often(block + 64, 600 * kib), nullptr);
  unsigned char* next = take_as_malloc(900 * kib, true);
  EXPECT_NE(shared(next, 900 * kib), nullptr);
  EXPECT_TRUE(all_zero(next, 900 * kib));
  unsigned char* other = take_as_malloc(1100 * kib);
  EXPECT_EQ(shared(other, mib), nullptr);
  release(block), release(next), release(other);
  heap.born_shared = 0;
}

TEST_F(CommonsSharing, WhatIsAskedForByName) {
  unsigned char* block = take(100 * kib, true);
  EXPECT_NE(shared(block, 100 * kib), nullptr);
  EXPECT_TRUE(all_zero(block, 100 * kib));
  release(block);
}

// A temporary buffer finds the pages of the one before.
TEST_F(CommonsSharing, BlocksThatComeAndGo) {
  constexpr std::size_t bytes = 300 * kib;
  for (int i = 1; i <= 2 * telling_uses; ++i) {
    unsigned char* block = take_as_malloc(bytes);
    write_pattern(block, bytes, static_cast<std::uint64_t>(i));
    EXPECT_EQ(offer(block, bytes) != nullptr, i >= telling_uses) << i;
    EXPECT_TRUE(has_pattern(block, bytes, static_cast<std::uint64_t>(i)));
    release(block);
  }
  trim();
  unsigned char* block = take_as_malloc(bytes, true);
  EXPECT_TRUE(all_zero(block, bytes));
  EXPECT_EQ(shared(block, bytes), nullptr) << "what was given back is private again";
  EXPECT_EQ(offer(block, bytes), nullptr);
  release(block);
}

// A larger block where one has been that was moved, and where one could not be.
TEST_F(CommonsSharing, TheNextBlockAtTheSamePlace) {
  for (const std::size_t unmoved : {0, 8}) {
    unsigned char* block = take_as_malloc(mib);
    std::memset(block, 1, mib);
    EXPECT_EQ(offer_often(block, mib - unmoved) == nullptr, unmoved != 0);
    release(block);
    unsigned char* next = take_as_malloc(3 * mib);
    ASSERT_EQ(next, block);
    write_pattern(next, 3 * mib, 5);
    for (int i = 0; i < telling_uses; ++i) (void)offer(next, 3 * mib);
    EXPECT_NE(shared(next, 3 * mib), nullptr) << unmoved;
    EXPECT_TRUE(has_pattern(next, 3 * mib, 5) && is_in_file(next, 3 * mib));
    release(next);
    trim();
    heap.born_shared = 0;
  }
}

TEST_F(CommonsSharing, ZeroedWhateverWasThere) {
  for (int i = 0; i < 50; ++i) {
    const std::size_t bytes = (64 + static_cast<std::size_t>(i) * 37 % 500) * kib;
    unsigned char* block = take_as_malloc(bytes, true);
    ASSERT_TRUE(all_zero(block, bytes)) << i;
    std::memset(block, 0xff, bytes);
    for (int use = 0; use < i % 3 * telling_uses; ++use) (void)offer(block, bytes);
    if (i % 5 == 0) trim();
    release(block);
  }
}

TEST_F(CommonsSharing, NotWhileDevicesMayKnowPages) {
  EXPECT_EQ(in_child([] {
              unsigned char* block = take_as_malloc(mib);  // private here anyway
              return block != nullptr;
            }),
            0);
  unsigned char* block = take_as_malloc(mib);
  let_pages_stay();
  EXPECT_EQ(offer_often(block, mib), nullptr);
  unsigned char* next = take_as_malloc(mib);  // none of its pages is known yet
  EXPECT_NE(shared(next, mib), nullptr);
  detail::pages_are_known = false;
  heap.born_shared = 0;
  release(next);
  release(block);
}

TEST_F(CommonsSharing, NotWhilePagesAreLocked) {
  unsigned char* block = take_as_malloc(mib);
  std::vector<unsigned char> locked(page_bytes);
  // Not by libc's function, which sanitizers replace by one that does nothing.
  if (::syscall(SYS_mlock, locked.data(), 1) != 0) GTEST_SKIP() << "nothing may be locked";
  EXPECT_EQ(offer_often(block, mib), nullptr);
  heap.born_shared = 0;
  ::syscall(SYS_munlock, locked.data(), 1);
  release(block);
}

// Who reads meanwhile finds the same.
TEST_F(CommonsSharing, WhileOthersRead) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "it takes a new mapping for a write";
#endif
  constexpr std::size_t bytes = 16 * mib;
  unsigned char* block = take_as_malloc(bytes);
  write_pattern(block, bytes, 9);
  std::atomic<bool> stop{false}, wrong{false};
  std::thread reader([&] {
    while (!stop) wrong = wrong || !has_pattern(block, bytes, 9);
  });
  EXPECT_NE(offer_often(block, bytes), nullptr);
  stop = true;
  reader.join();
  EXPECT_FALSE(wrong);
  release(block);
}

TEST_F(CommonsSharing, ByManyThreads) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (std::uint64_t me = 0; me < 4; ++me)
    threads.emplace_back([me, &wrong] {
      for (std::uint64_t i = 0; i < 200; ++i) {
        const std::size_t bytes = (16 + (i * 29 + me * 7) % 300) * kib;
        unsigned char* block = take_as_malloc(bytes, i % 2 == 0);
        if (block == nullptr) continue;
        if (i % 2 == 0 && !all_zero(block, bytes)) ++wrong;
        write_pattern(block, bytes, i * 4 + me);
        for (int use = 0; use < telling_uses; ++use) (void)offer(block, bytes);
        if (!has_pattern(block, bytes, i * 4 + me)) ++wrong;
        release(block);
        if (i % 50 == 0) trim();
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// A child has what was shared, and what was private, as it was; and neither sees the other's.
TEST_F(CommonsSharing, Fork) {
  constexpr std::size_t bytes = 3 * mib + 8;
  unsigned char* before = take_as_malloc(bytes);
  unsigned char* used = take_as_malloc(bytes);
  unsigned char* partly = take_as_malloc(bytes);
  unsigned char* freed = take_as_malloc(bytes);
  write_pattern(before, bytes, 1), write_pattern(used, bytes, 2), write_pattern(partly, bytes, 3);
  std::memset(freed, 0xff, bytes);
  ASSERT_NE(offer_often(used, bytes), nullptr);
  ASSERT_NE(offer_often(partly + mib, mib), nullptr);
  ASSERT_NE(offer_often(freed, bytes), nullptr);
  release(freed);
  int ready_fds[2];
  ASSERT_EQ(::pipe(ready_fds), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    char go = 0;
    const bool told = ::read(ready_fds[0], &go, 1) == 1;
    bool good = told && has_pattern(before, bytes, 1) && has_pattern(used, bytes, 2) &&
                has_pattern(partly, bytes, 3) && is_valid();
    for (int i = 0; i < 20; ++i) {
      unsigned char* zeros = take_as_malloc(2 * mib, true);
      good = good && zeros != nullptr && all_zero(zeros, 2 * mib);
      std::memset(zeros, 1, 2 * mib);
      if (i % 2 == 0) release(zeros);
    }
    for (int i = 0; i < 2 * telling_uses; ++i) good = good && offer(used, bytes) == nullptr;
    write_pattern(used, bytes, 7), write_pattern(partly, bytes, 8);
    // A child of the child.
    good = good && in_child([&] { return has_pattern(used, bytes, 7) && is_valid(); }) == 0;
    ::_exit(good ? 0 : 1);
  }
  write_pattern(used, bytes, 5), write_pattern(partly, bytes, 6);
  ASSERT_EQ(::write(ready_fds[1], "", 1), 1);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(has_pattern(used, bytes, 5) && has_pattern(partly, bytes, 6));
  release(before), release(used), release(partly);
}

TEST_F(CommonsSharing, ForkWithoutTheDescriptor) {
  constexpr std::size_t bytes = mib;
  EXPECT_EQ(in_child([] { return true; }), 0);
  unsigned char* used = take_as_malloc(bytes);
  unsigned char* other = take_as_malloc(bytes);
  write_pattern(used, bytes, 2), write_pattern(other, bytes, 3);
  ASSERT_NE(offer_often(used, bytes), nullptr);
  const int kept = ::dup(heap.fd);
  ::close(heap.fd);
  EXPECT_EQ(in_child([&] { return has_pattern(used, bytes, 2) && has_pattern(other, bytes, 3); }),
            0);
  EXPECT_EQ(offer_often(other, bytes), nullptr) << "there is no file to put it in";
  ASSERT_EQ(::dup2(kept, heap.fd), heap.fd);
  ::close(kept);
  EXPECT_TRUE(has_pattern(used, bytes, 2));
  release(used), release(other);
}

TEST_F(CommonsSharing, ForksWhileOthersShare) {
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::thread worker([&] {
    for (std::uint64_t i = 0; !stop; ++i) {
      const std::size_t bytes = (32 + i * 31 % 200) * kib;
      unsigned char* block = take_as_malloc(bytes);
      if (block == nullptr) continue;
      write_pattern(block, bytes, i);
      for (int use = 0; use < telling_uses; ++use) (void)offer(block, bytes);
      if (!has_pattern(block, bytes, i)) ++wrong;
      release(block);
      if (i % 16 == 0) trim();
    }
  });
  unsigned char* mine = take_as_malloc(mib);
  write_pattern(mine, mib, 4);
  (void)offer_often(mine, mib);
  for (int i = 0; i < 60; ++i) {
    EXPECT_EQ(in_child([&] {
                bool good = has_pattern(mine, mib, 4) && is_valid();
                write_pattern(mine, mib, 5);
                unsigned char* zeros = take_as_malloc(400 * kib, true);
                return good && all_zero(zeros, 400 * kib);
              }),
              0);
    EXPECT_TRUE(has_pattern(mine, mib, 4));
  }
  stop = true;
  worker.join();
  EXPECT_EQ(wrong, 0);
  release(mine);
}

// The file cannot grow: what is private stays so, and as it is.
TEST_F(CommonsSharing, WhereTheFileCannotBeWritten) {
  unsigned char* block = take_as_malloc(mib);
  write_pattern(block, mib, 6);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit none{4096, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &none);
  const bool refused = offer_often(block, mib) == nullptr;
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_TRUE(refused);
  EXPECT_TRUE(has_pattern(block, mib, 6));
  release(block);
}

}  // namespace
}  // namespace tutti::commons
