// SPDX-License-Identifier: BSD-3-Clause
// Teams of forked processes, on every rung of the ladder of ways to reach memory.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "support/teams.h"

namespace tutti::engine {
namespace {

using coll::Collective;
using test::from_static;
using test::heap;
using test::join;
using test::meet;
using test::play;
using test::Rank;
using test::static_data;
using test::team_of;

// What TUTTI_MEMORY may say, and how large messages from the heap and from elsewhere then move.
struct Rung {
  const char* name;
  const char* option;
  const char* heap_way;
  const char* static_way;
};
constexpr Rung rungs[] = {{"commons", "commons,cma,bounce", "commons", "cma"},
                          {"cma", "cma,bounce", "cma", "cma"},
                          {"bounce", "bounce", "bounce", "bounce"}};

class OnRung : public ::testing::TestWithParam<Rung> {};

TEST_P(OnRung, CollectivesGiveTheSequentialResult) {
  for (const int ranks : {1, 2, 3, 4, 7}) {
    const auto endings = test::fork_ranks(ranks, [](Rank& self) {
      const auto team = team_of(self.world, join(self, GetParam().option));
      for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        play(*team, 2 * seed, heap);
        play(*team, 2 * seed + 1, static_data);
      }
    });
    ASSERT_TRUE(endings.all(0)) << ranks << " ranks: " << endings.output;
  }
}

TEST_P(OnRung, LargeMessagesTakeTheWayTheyShould) {
  const auto endings = test::fork_ranks(3, [](Rank& self) {
    const Rung& rung = GetParam();
    const auto team = team_of(self.world, join(self, rung.option));
    constexpr std::size_t count = std::size_t{1} << 18;
    const auto* kernel = reduce::find(reduce::Op::sum, reduce::Type::f32);
    auto* heap_memory = heap.allocate(2 * count * sizeof(float));
    for (const auto& [memory, way] : {std::pair{heap_memory, rung.heap_way},
                                      std::pair{from_static(2 * count * 4), rung.static_way}}) {
      auto* send = static_cast<float*>(memory);
      float* recv = send + count;
      for (std::size_t i = 0; i < count; ++i) send[i] = static_cast<float>(i % 1000);
      const coll::Work work{
          .send = send, .recv = recv, .count = count, .element_bytes = 4, .kernel = kernel};
      team->run(Collective::allreduce, work);
      for (std::size_t i = 0; i < count; ++i)
        RANK_CHECK(recv[i] == 3 * static_cast<float>(i % 1000));
      RANK_CHECK(std::string(last_way()) == way);
      team->run(Collective::bcast, work);
      RANK_CHECK(std::string(last_way()) == way);
      team->run(Collective::reduce, work);
      RANK_CHECK(std::string(last_way()) == way);
      forget_last_way();
      RANK_CHECK(std::string(last_way()).empty());
      team->run(Collective::barrier, {});
    }
    RANK_CHECK(team->account_so_far().calls[static_cast<std::size_t>(Collective::bcast)] == 2);
    RANK_CHECK(account().calls[static_cast<std::size_t>(Collective::allreduce)] == 2);
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
}

// TUTTI_ORDER may be in the environment of some ranks alone.
TEST(Team, FoldsInOneOrder) {
  for (const int ranks : {3, 4, 7}) {
    const auto endings = test::fork_ranks(ranks, [](Rank& self) {
      if (self.rank == self.size / 2) ::setenv("TUTTI_ORDER", "rank", 1);
      const auto team = team_of(self.world, join(self));
      for (std::uint64_t seed = 1; seed <= 20; ++seed)
        play(*team, seed, heap, 20, coll::Order::rank);
    });
    ASSERT_TRUE(endings.all(0)) << ranks << " ranks: " << endings.output;
  }
}

// Whoever waits is told, and all know on their own desks that and why it is over.
TEST(Team, ARevokedOneIsOverForAll) {
  const auto endings = test::fork_ranks(3, [](Rank& self) {
    const auto team = team_of(self.world, join(self, "cma,bounce"));
    RANK_CHECK(!team->revoked());
    RANK_CHECK(team->run(Collective::barrier, {}) == ErrorCode::none);
    if (self.rank == 1)
      team->revoke();
    else
      RANK_CHECK(team->run(Collective::barrier, {}) == ErrorCode::peer_error);
    RANK_CHECK(team->revoked());
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
}

// Memory that only the kernel can copy goes the one way and the other until it is known which is
// faster, and then mostly that one; the result is the same.
TEST(Team, BothWaysAreTriedWhereOnlyTheKernelReaches) {
  const auto endings = test::fork_ranks(3, [](Rank& self) {
    const auto team = team_of(self.world, join(self, "cma,bounce"));
    constexpr std::size_t count = std::size_t{1} << 13;
    const auto* kernel = reduce::find(reduce::Op::sum, reduce::Type::f32);
    for (const auto collective : {Collective::allreduce, Collective::bcast}) {
      int changes = 0;
      std::array<int, 2> ways{};  // cma, bounce
      std::string before;
      for (int call = 0; call < 120; ++call) {
        auto* send = static_cast<float*>(from_static(2 * count * sizeof(float)));
        float* recv = send + count;
        const float mine = static_cast<float>(call + self.rank);
        std::fill_n(send, count, mine);
        std::fill_n(recv, count, mine);
        coll::Work work{
            .send = send, .recv = recv, .count = count, .element_bytes = 4, .kernel = kernel};
        if (collective == Collective::bcast) work.root = 1;
        team->run(collective, work);
        const float wanted =
            static_cast<float>(collective == Collective::bcast ? call + 1 : 3 * call + 3);
        RANK_CHECK(std::count(recv, recv + count, wanted) == count);
        const std::string way = last_way();
        RANK_CHECK(way == "cma" || way == "bounce");
        ++ways[way == "bounce"];
        changes += call > 0 && way != before;
        before = way;
      }
      RANK_CHECK(ways[0] >= 5 && ways[1] >= 5);
      RANK_CHECK(changes >= 1 && changes <= 12);
    }
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
}

INSTANTIATE_TEST_SUITE_P(Rungs, OnRung, ::testing::ValuesIn(rungs),
                         [](const auto& row) { return row.param.name; });

TEST(Team, NobodyLeavesABarrierBeforeAllHaveEntered) {
  auto* entered = static_cast<std::atomic<int>*>(
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  for (const int ranks : {2, 4, 9, 12}) {
    *entered = 0;
    const auto endings = test::fork_ranks(ranks, [&](Rank& self) {
      const auto team = team_of(self.world, join(self));
      for (int round = 1; round <= 500; ++round) {
        entered->fetch_add(1);
        team->run(Collective::barrier, {});
        RANK_CHECK(entered->load() >= round * self.size);
      }
    });
    ASSERT_TRUE(endings.all(0)) << endings.output;
  }
}

// Teams of halves, of reversed order and of all, used in turn.
TEST(Team, SubteamsAreApart) {
  const auto endings = test::fork_ranks(5, [](Rank& self) {
    const auto home = join(self);
    const auto world = team_of(self.world, home);
    std::vector<int> half, reversed;
    for (int rank = 0; rank < self.size; ++rank)
      if (rank % 2 == self.rank % 2) half.push_back(rank);
    for (int rank = self.size - 1; rank >= 0; --rank) reversed.push_back(rank);
    const auto halves = team_of(self.pipes.exchange(half, self.rank / 2), home);
    const auto backwards = team_of(self.pipes.exchange(reversed, self.size - 1 - self.rank), home);
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      play(*halves, 100 + seed + static_cast<unsigned>(self.rank % 2) * 50, heap, 6);
      play(*backwards, 200 + seed, heap, 6);
      play(*world, 300 + seed, static_data, 6);
    }
    meet(self);
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
}

// Processes whose world is another's, as after a spawn: they join a Node of their own.
TEST(Team, OfProcessesWithoutACommonHome) {
  const auto endings = test::fork_ranks(4, [](Rank& self) {
    std::vector<int> half;
    for (int rank = 0; rank < self.size; ++rank)
      if (rank / 2 == self.rank / 2) half.push_back(rank);
    std::shared_ptr<Node> home;
    RANK_CHECK(Node::join(self.pipes.exchange(half, self.rank % 2), home).ok());
    const auto own = team_of(self.pipes.exchange(half, self.rank % 2), home);
    const auto all = team_of(self.world, home);
    const auto homeless = team_of(self.world, nullptr);
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      play(*own, seed, heap, 6);
      play(*all, 20 + seed, heap, 6);
      play(*homeless, 40 + seed, static_data, 6);
    }
    meet(self);
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
}

// AddressSanitizer keeps freed memory back on purpose.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool memory_can_be_judged = false;
#else
constexpr bool memory_can_be_judged = true;
#endif

std::size_t resident_bytes() {
  long total = 0, resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  RANK_CHECK(file != nullptr && std::fscanf(file, "%ld %ld", &total, &resident) == 2);
  std::fclose(file);
  return static_cast<std::size_t>(resident) * 4096;
}

// All ranks map as much of each other's commons as fits the narrowest of them.
TEST(Team, SharesALimitedAddressSpace) {
  if (!memory_can_be_judged) GTEST_SKIP() << "a sanitizer takes most of the address space";
  const auto endings = test::fork_ranks(8, [](Rank& self) {
    constexpr std::uint64_t gib = std::uint64_t{1} << 30;
    ::setenv("TUTTI_COMMONS_RANGE", "64G", 1);
    const rlimit limit{(self.rank == 3 ? 200 : 400) * gib, RLIM_INFINITY};
    RANK_CHECK(::setrlimit(RLIMIT_AS, &limit) == 0);
    const auto home = join(self);
    RANK_CHECK(home->transports().ways.has(memory::Transport::mapped) &&
               home->transports().window_bytes < 8 * gib);
    const std::uint64_t mine = home->transports().window_bytes;
    std::uint64_t all[8];
    RANK_CHECK(self.world.allgather(&mine, all, sizeof mine));
    for (const std::uint64_t theirs : all) RANK_CHECK(theirs == mine);
    const auto team = team_of(self.world, home);
    for (std::uint64_t seed = 1; seed <= 10; ++seed) play(*team, seed, heap, 6);
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
}

TEST(Team, TenThousandLeakNothing) {
  const auto endings = test::fork_ranks(3, [](Rank& self) {
    const auto home = join(self);
    std::size_t early_bytes = 0;
    for (int i = 0; i < 10'000; ++i) {
      {
        const auto team = team_of(self.world, home);
        std::uint64_t word = self.rank == i % 3 ? static_cast<unsigned>(i) : 0;
        team->run(Collective::bcast, {.recv = &word, .count = 8, .root = i % 3});
        RANK_CHECK(word == static_cast<unsigned>(i));
      }
      if (i == 1000) early_bytes = resident_bytes();
    }
    meet(self);
    RANK_CHECK(home->segment().slices_in_use() == 0);
    RANK_CHECK(!memory_can_be_judged || resident_bytes() < early_bytes + (std::size_t{256} << 10));
    const int fd = ::dup(0);
    RANK_CHECK(fd < 100);
    meet(self);
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
}

TEST(Team, TheSegmentStaysWithinAMebibyteARank) {
  const auto endings = test::fork_ranks(4, [](Rank& self) {
    const auto home = join(self);
    const auto team = team_of(self.world, home);
    for (std::uint64_t seed = 1; seed <= 40; ++seed) play(*team, seed, static_data);
    // All that is resident of the mapping of the segment, from /proc/self/smaps.
    std::FILE* file = std::fopen("/proc/self/smaps", "r");
    RANK_CHECK(file != nullptr);
    char line[512];
    bool of_segment = false;
    long kib = 0, one = 0;
    while (std::fgets(line, sizeof line, file) != nullptr) {
      if (std::strchr(line, '-') != nullptr && std::strchr(line, '-') < std::strchr(line, ' '))
        of_segment = std::strstr(line, "tutti-segment") != nullptr;
      if (of_segment && std::sscanf(line, "Rss: %ld", &one) == 1) kib += one;
    }
    std::fclose(file);
    RANK_CHECK(kib > 0 && kib <= 1024 * self.size);
    meet(self);
  });
  EXPECT_TRUE(endings.all(0)) << endings.output;
}

}  // namespace
}  // namespace tutti::engine
