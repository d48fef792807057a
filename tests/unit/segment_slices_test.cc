// SPDX-License-Identifier: BSD-3-Clause
// The node segment: made by one process, entered by others, cut into slices by all of them.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>

#include "os/limits.h"
#include "segment/segment.h"
#include "support/fork_ranks.h"

namespace tutti::segment {
namespace {

using test::Rank;

// All ranks in one segment, which rank 0 has made.
void enter(Rank& self, Segment& segment) {
  if (self.rank == 0) RANK_CHECK(segment.create().ok());
  Invitation mine{}, all[16];
  if (self.rank == 0) mine = segment.invitation();
  RANK_CHECK(self.world.allgather(&mine, all, sizeof mine));
  if (self.rank != 0) RANK_CHECK(segment.attach(all[0]).ok());
  int ready = 1, everyone[16];
  RANK_CHECK(self.world.allgather(&ready, everyone, sizeof ready));
  segment.close_descriptor();
}

void barrier(Rank& self) {
  int here = 1, everyone[16];
  RANK_CHECK(self.world.allgather(&here, everyone, sizeof here));
}

TEST(Segment, IsSharedByAllThatAttach) {
  const auto endings = test::fork_ranks(4, [](Rank& self) {
    Segment segment;
    enter(self, segment);
    std::uint64_t mine = self.rank == 0 ? segment.allocate_slice(4) : 0, all[4];
    RANK_CHECK(self.world.allgather(&mine, all, sizeof mine));
    segment.desk(all[0], self.rank)->done.store(100 + static_cast<Step>(self.rank));
    barrier(self);
    for (int peer = 0; peer < 4; ++peer)
      RANK_CHECK(segment.desk(all[0], peer)->done.load() == 100 + static_cast<Step>(peer));
    RANK_CHECK(segment.slices_in_use() == 1);
    barrier(self);
    segment.leave_slice(all[0]);
    barrier(self);
    RANK_CHECK(segment.slices_in_use() == 0);
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
}

TEST(Segment, TwoTeamsHaveDesksApart) {
  Segment segment;
  ASSERT_TRUE(segment.create().ok());
  std::vector<Desk*> desks;
  for (const int members : {1, 2, 3, 5, 64}) {
    const std::uint64_t slice = segment.allocate_slice(members);
    ASSERT_NE(slice, 0u);
    for (int rank = 0; rank < members; ++rank) desks.push_back(segment.desk(slice, rank));
  }
  std::sort(desks.begin(), desks.end());
  for (std::size_t i = 0; i < desks.size(); ++i) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(desks[i]) % alignof(Desk), 0u);
    if (i > 0) {
      EXPECT_GE(reinterpret_cast<std::byte*>(desks[i]),
                reinterpret_cast<std::byte*>(desks[i - 1]) + sizeof(Desk));
    }
  }
}

// The state that a desk must not inherit from the team before.
void expect_fresh(const Segment& segment, std::uint64_t slice, int members) {
  for (int rank = 0; rank < members; ++rank) {
    const auto* bytes = reinterpret_cast<const std::byte*>(segment.desk(slice, rank));
    for (std::size_t i = 0; i < offsetof(Desk, staging); ++i)
      ASSERT_EQ(bytes[i], std::byte{0}) << "byte " << i << " of desk " << rank;
  }
}

TEST(Segment, AReusedSliceIsAsNew) {
  Segment segment;
  ASSERT_TRUE(segment.create().ok());
  const std::uint64_t first = segment.allocate_slice(3);
  for (int rank = 0; rank < 3; ++rank)
    std::memset(static_cast<void*>(segment.desk(first, rank)), 0xff, sizeof(Desk));
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(segment.slices_in_use(), 1u);
    segment.leave_slice(first);
  }
  EXPECT_EQ(segment.slices_in_use(), 0u);
  // Four members take the same class of slices as three.
  const std::uint64_t second = segment.allocate_slice(4);
  EXPECT_EQ(second, first);
  expect_fresh(segment, second, 4);
}

TEST(Segment, ThousandsOfSlicesTakeNoMoreThanTheirMost) {
  Segment segment;
  ASSERT_TRUE(segment.create().ok());
  std::uint64_t highest = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t slice = segment.allocate_slice(2);
    ASSERT_NE(slice, 0u);
    if (i == 0) highest = slice;
    ASSERT_LE(slice, highest);
    segment.leave_slice(slice);
    segment.leave_slice(slice);
  }
}

std::uint64_t resident_bytes() { return os::resident_shared_bytes().value_or(0); }

// Of a team whose members have called something that went through their staging slots.
void use(const Segment& segment, std::uint64_t slice, int desks, bool staged) {
  for (int rank = 0; rank < desks; ++rank) {
    Desk& desk = *segment.desk(slice, rank);
    std::memset(static_cast<void*>(&desk), 0xff, offsetof(Desk, staging));
    desk.staged = 0;
    for (std::size_t slot = 0; staged && slot < slots; ++slot) {
      desk.note_staged(slot);
      std::memset(desk.staging[slot], 0xff, staging_bytes);
    }
  }
}

TEST(Segment, FreeSlicesKeepLittle) {
  constexpr std::uint64_t mib = std::uint64_t{1} << 20;
  for (const bool staged : {false, true}) {
    Segment segment;
    ASSERT_TRUE(segment.create().ok());
    const std::uint64_t before = resident_bytes();
    std::vector<std::uint64_t> slices;
    for (int i = 0; i < (staged ? 100 : 1000); ++i) {
      slices.push_back(segment.allocate_slice(1, 2));
      use(segment, slices.back(), 2, staged);
    }
    EXPECT_GE(resident_bytes(), before + 10 * mib);
    for (const std::uint64_t slice : slices) segment.leave_slice(slice);
    EXPECT_LE(resident_bytes(), before + mib);
    EXPECT_LE(segment.kept_bytes(), mib);
    for (int i = 0; i < 1000; ++i) expect_fresh(segment, segment.allocate_slice(1, 2), 2);
  }
}

// What a team has left in slots that the next one never wrote into.
TEST(Segment, FreeSlicesKeepLittleOfThoseBefore) {
  Segment segment;
  ASSERT_TRUE(segment.create().ok());
  const std::uint64_t before = resident_bytes();
  std::vector<std::uint64_t> slices;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t staged = segment.allocate_slice(1, 2);
    use(segment, staged, 2, true);
    segment.leave_slice(staged);
    slices.push_back(segment.allocate_slice(1, 2));
    EXPECT_EQ(slices.back(), staged);
    use(segment, slices.back(), 2, false);
  }
  for (const std::uint64_t slice : slices) segment.leave_slice(slice);
  EXPECT_LE(resident_bytes(), before + (std::uint64_t{2} << 20));
}

// A few teams that are made, used and freed again and again, of different sizes.
TEST(Segment, SlicesThatAreUsedInTurnsKeepTheirPages) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer's own memory has page faults, too";
#endif
  Segment segment;
  ASSERT_TRUE(segment.create().ok());
  rusage before{}, after{};
  for (int i = 0; i < 100; ++i) {
    if (i == 20) ::getrusage(RUSAGE_SELF, &before);
    const std::uint64_t one = segment.allocate_slice(1, 2), two = segment.allocate_slice(2, 2);
    use(segment, one, 2, true);
    use(segment, two, 4, false);
    segment.leave_slice(one);
    segment.leave_slice(two);
    segment.leave_slice(two);
  }
  ::getrusage(RUSAGE_SELF, &after);
  EXPECT_LE(after.ru_minflt - before.ru_minflt, 8);
}

TEST(Segment, MembersFindTheirSliceByName) {
  Segment segment;
  ASSERT_TRUE(segment.create().ok());
  // Names of one bucket, and of another.
  const std::uint64_t names[] = {1, 257, 513, 2};
  std::vector<std::uint64_t> slices;
  for (const std::uint64_t name : names) slices.push_back(segment.find_slice(name, 2));
  for (std::size_t i = 0; i < slices.size(); ++i) {
    ASSERT_NE(slices[i], 0u);
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(slices[i], slices[j]);
    EXPECT_EQ(segment.find_slice(names[i], 2), slices[i]);
  }
  EXPECT_EQ(segment.slices_in_use(), 4u);
  // In the midst of a list, with one member and then with both gone.
  segment.leave_slice(slices[1]);
  EXPECT_EQ(segment.find_slice(names[1], 2), slices[1]);
  segment.leave_slice(slices[1]);
  EXPECT_EQ(segment.slices_in_use(), 3u);
  for (const std::size_t left : {0, 2, 3}) {
    EXPECT_EQ(segment.find_slice(names[left], 2), slices[left]);
  }
  const std::uint64_t next = segment.find_slice(769, 2);
  EXPECT_EQ(next, slices[1]);  // used again
  expect_fresh(segment, next, 2);
}

// All members of a group must come to the same end, though slices become free between two of them.
TEST(Segment, ANameWithoutASliceStaysWithout) {
  Segment segment;
  ASSERT_TRUE(segment.create().ok());
  const std::uint64_t kept = segment.find_slice(1, 1);
  const std::uint64_t freed = segment.allocate_slice(1 << 12);
  while (segment.allocate_slice(1 << 12) != 0) {
  }
  EXPECT_EQ(segment.find_slice(2, 1 << 12), 0u);
  for (int i = 0; i < 1 << 12; ++i) segment.leave_slice(freed);
  EXPECT_EQ(segment.find_slice(2, 1 << 12), 0u);
  EXPECT_EQ(segment.find_slice(1, 1), kept);
}

// A larger file would be answered by SIGXFSZ.
TEST(Segment, IsAsSmallAsTheLimitOfFilesWants) {
  const auto endings = test::fork_ranks(2, [](Rank& self) {
    constexpr std::uint64_t mib = std::uint64_t{1} << 20;
    rlimit limit{200 * mib, RLIM_INFINITY};
    RANK_CHECK(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
    Segment segment;
    enter(self, segment);
    if (self.rank == 0) RANK_CHECK(segment.allocate_slice(2) != 0);
    if (self.rank == 0) RANK_CHECK(segment.allocate_slice(1 << 10) == 0);
    barrier(self);
    limit.rlim_cur = 10 * mib;
    RANK_CHECK(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
    Segment none;
    RANK_CHECK(!none.create().ok());
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
}

TEST(Segment, RefusesWhatDoesNotFit) {
  Segment segment;
  ASSERT_TRUE(segment.create().ok());
  EXPECT_EQ(segment.allocate_slice(1 << 20), 0u);
  int slices = 0;
  while (slices < 100'000 && segment.allocate_slice(1 << 12) != 0) ++slices;
  EXPECT_GT(slices, 0);
  EXPECT_LT(slices, 100'000);
  EXPECT_NE(segment.allocate_slice(1), 0u);  // what is left serves smaller teams
}

TEST(Segment, AWrongNonceIsRefused) {
  const auto endings = test::fork_ranks(2, [](Rank& self) {
    Segment segment;
    if (self.rank == 0) RANK_CHECK(segment.create().ok());
    Invitation mine{}, all[2];
    if (self.rank == 0) mine = segment.invitation();
    RANK_CHECK(self.world.allgather(&mine, all, sizeof mine));
    if (self.rank == 1) {
      Invitation wrong = all[0];
      ++wrong.nonce;
      const Status status = segment.attach(wrong);
      RANK_CHECK(status.code == Code::unsupported);
    }
    barrier(self);
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
}

// A process number may mean another process, whose descriptors are anything at all.
TEST(Segment, AnythingElseIsRefused) {
  const int empty = ::memfd_create("empty", MFD_CLOEXEC);
  const int small = ::memfd_create("small", MFD_CLOEXEC);
  ASSERT_EQ(::ftruncate(small, 100), 0);
  int pipe_ends[2];
  ASSERT_EQ(::pipe2(pipe_ends, O_CLOEXEC), 0);
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int fd : {empty, small, pipe_ends[0], null, 999}) {
    Segment segment;
    EXPECT_FALSE(segment.attach({::getpid(), fd, 0}).ok()) << fd;
  }
  for (const int fd : {empty, small, pipe_ends[0], pipe_ends[1], null}) ::close(fd);
}

// There is memory for one of two; who comes second waits until the first has taken what it wanted,
// and does not wait for who has been killed.
TEST(Segment, MembersReserveMemoryInTurns) {
  const auto endings = test::fork_ranks(3, [](Rank& self) {
    constexpr auto ten = []() -> std::uint64_t { return 10; };
    Segment segment;
    enter(self, segment);
    segment.sign_in(self.rank);
    std::uint64_t slice = self.rank == 0 ? segment.allocate_slice(1) : 0, all[3];
    RANK_CHECK(self.world.allgather(&slice, all, sizeof slice));
    std::atomic<Step>& released = segment.desk(all[0], 0)->done;
    RANK_CHECK(!segment.reserve(self.rank, 3, 10, ten));
    barrier(self);
    if (self.rank == 0) RANK_CHECK(segment.reserve(0, 3, 6, ten));
    barrier(self);
    if (self.rank == 0) {
      released = 1;
      segment.release(0);
      return;
    }
    if (self.rank == 1) {
      RANK_CHECK(segment.reserve(1, 3, 3, ten));  // beside the six
      RANK_CHECK(segment.reserve(1, 3, 5, ten) && released == 1);
      ::kill(::getpid(), SIGKILL);
    }
    while (!Segment::marked_as_ended(segment.presence(1))) ::usleep(100);
    RANK_CHECK(segment.reserve(2, 3, 9, ten));
  });
  EXPECT_EQ(endings.status, (std::vector<int>{0, -SIGKILL, 0})) << endings.output;
}

// To find out how much is available takes long, and may take as long as the kernel likes: whoever
// needs a slice does not wait for that, nor for ever if that member is killed meanwhile.
TEST(Segment, MembersWhoReserveMemoryStopNobody) {
  static Segment* segment;
  const auto endings = test::fork_ranks(1, [](Rank& self) {
    ::alarm(5);
    Segment here;
    segment = &here;
    enter(self, here);
    here.sign_in(0);
    RANK_CHECK(here.reserve(0, 1, 1, [] { return 10 + segment->slices_in_use(); }));
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
}

// Several processes allocate and leave in random order; every desk is stamped by its slice's owner
// and must still carry the stamp when the slice is left.
TEST(Segment, ConcurrentAllocationNeverOverlaps) {
  constexpr int ranks = 4;
  const auto endings = test::fork_ranks(ranks, [](Rank& self) {
    Segment segment;
    enter(self, segment);
    struct Held {
      std::uint64_t slice;
      int members, left;
      Step stamp;
    };
    std::vector<Held> held;
    std::mt19937_64 random(static_cast<unsigned>(self.rank) + 1);
    for (int i = 0; i < 3000; ++i) {
      if (held.size() < 20 && random() % 2 == 0) {
        const int members = 1 + static_cast<int>(random() % 9);
        const std::uint64_t slice = segment.allocate_slice(members);
        RANK_CHECK(slice != 0);
        const Step stamp = random() | 1;
        for (int member = 0; member < members; ++member) {
          Desk& desk = *segment.desk(slice, member);
          RANK_CHECK(desk.done.load() == 0 && desk.lines[3].step.load() == 0);
          RANK_CHECK(desk.share.claimed.load() == 0 && desk.sleepers.load() == 0);
          desk.done = desk.lines[3].step = desk.share.claimed = stamp;
          desk.sleepers = 1;
        }
        held.push_back({slice, members, 0, stamp});
      } else if (!held.empty()) {
        Held& one = held[random() % held.size()];
        for (int member = 0; member < one.members; ++member) {
          const Desk& desk = *segment.desk(one.slice, member);
          RANK_CHECK(desk.done.load() == one.stamp && desk.share.claimed.load() == one.stamp);
        }
        segment.leave_slice(one.slice);
        if (++one.left == one.members) {
          one = held.back();
          held.pop_back();
        }
      }
    }
    for (Held& one : held)
      for (; one.left < one.members; ++one.left) segment.leave_slice(one.slice);
    barrier(self);
    RANK_CHECK(segment.slices_in_use() == 0);
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
}

// A member that is killed while it changes lists keeps nobody waiting and breaks nothing of others.
TEST(Segment, SurvivesWhoIsKilledInTheMidstOfAChange) {
  const auto endings = test::fork_ranks(
      1,
      [](Rank& self) {
        Segment segment;
        enter(self, segment);
        std::vector<std::uint64_t> mine;
        for (std::uint64_t name = 1; name <= 8; ++name) {
          mine.push_back(segment.find_slice(name, 1 + static_cast<int>(name)));
          segment.desk(mine.back(), 0)->done = name;
        }
        std::mt19937_64 random(1);
        for (int round = 0; round < 300; ++round) {
          const itimerval end{{}, {0, 1 + static_cast<suseconds_t>(random() % 1000)}};
          const pid_t victim = ::fork();
          if (victim == 0) {
            ::setitimer(ITIMER_REAL, &end, nullptr);  // a signal that ends it
            for (std::uint64_t name = static_cast<std::uint64_t>(round + 1) << 32;; ++name) {
              const std::uint64_t slices[] = {segment.find_slice(name, 1 + round % 9),
                                              segment.allocate_slice(1 + round % 5)};
              if (slices[0] == 0 || slices[1] == 0) ::_exit(0);  // full of what others have lost
              for (int member = 0; member <= round % 9; ++member) segment.leave_slice(slices[0]);
              for (int member = 0; member <= round % 5; ++member) segment.leave_slice(slices[1]);
            }
          }
          // In every second round this process may wait for the lock just then.
          while (::waitpid(victim, nullptr, round % 2 == 0 ? WNOHANG : 0) == 0)
            (void)segment.slices_in_use();
          for (std::uint64_t name = 1; name <= 8; ++name)
            RANK_CHECK(segment.find_slice(name, 1 + static_cast<int>(name)) == mine[name - 1]);
          const std::uint64_t fresh[] = {segment.allocate_slice(9), segment.allocate_slice(9)};
          for (const std::uint64_t slice : fresh)
            for (int member = 0; member < 9; ++member) {
              RANK_CHECK(slice != 0);
              Desk& desk = *segment.desk(slice, member);
              RANK_CHECK(desk.done.load() == 0);
              desk.done = slice;
            }
          for (const std::uint64_t slice : fresh)
            for (int member = 0; member < 9; ++member) {
              RANK_CHECK(segment.desk(slice, member)->done.load() == slice);
              segment.leave_slice(slice);
            }
          for (std::uint64_t name = 1; name <= 8; ++name)
            RANK_CHECK(segment.desk(mine[name - 1], 0)->done.load() == name);
        }
      },
      30);
  EXPECT_TRUE(endings.all(0)) << endings.output;
}

// The members of one slice leave at the same time, again and again: the last one frees it, once.
TEST(Segment, TheLastToLeaveFrees) {
  const auto endings = test::fork_ranks(3, [](Rank& self) {
    Segment segment;
    enter(self, segment);
    for (int i = 0; i < 1000; ++i) {
      std::uint64_t mine = self.rank == i % 3 ? segment.allocate_slice(3) : 0, all[3];
      RANK_CHECK(self.world.allgather(&mine, all, sizeof mine));
      const std::uint64_t slice = all[i % 3];
      RANK_CHECK(slice != 0);
      RANK_CHECK(segment.slices_in_use() >= 1);
      segment.leave_slice(slice);
    }
    barrier(self);
    RANK_CHECK(segment.slices_in_use() == 0);
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
}

}  // namespace
}  // namespace tutti::segment
