// SPDX-License-Identifier: BSD-3-Clause
// What algorithms may rely on, one suite for every fabric: the simulated one, under many seeds, and
// the one of real ranks, on threads.
#include <gtest/gtest.h>

#include <array>

#include "lab/sim.h"
#include "support/thread_ranks.h"

namespace tutti::fabric {
namespace {

struct Simulated {
  using F = lab::SimFabric;
  template <class Body>
  static void run(int ranks, const Body& body) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
      lab::Simulator simulator(ranks, seed);
      ASSERT_TRUE(simulator.run(body)) << "seed " << seed;
      ASSERT_EQ(simulator.mismatches(), 0) << "seed " << seed;
    }
  }
};

template <int polls, int yields, bool asymmetric, test::Between between = test::Between::threads>
struct Threads {
  using F = NodeFabric;
  template <class Body>
  static void run(int ranks, const Body& body) {
    const bool fence = asymmetric && os::enable_asymmetric_fence();
    for (int round = 0; round < 10; ++round)
      test::ThreadRanks(ranks, {polls, yields, fence}, between).run(body);
  }
};

using Fabrics = ::testing::Types<Simulated, Threads<2000, 200, false>, Threads<0, 0, false>,
                                 Threads<0, 0, true>, Threads<0, 0, true, test::Between::copied>>;
template <class Driver>
class Conformance : public ::testing::Test {};
TYPED_TEST_SUITE(Conformance, Fabrics);

using Payload = std::array<std::uint64_t, segment::payload_bytes / 8>;

Payload payload_of(int rank, Step step) {
  Payload payload;
  payload.fill(step * 1000 + static_cast<std::uint64_t>(rank));
  return payload;
}

Bytes bytes_of(const Payload& payload) { return std::as_bytes(std::span(payload)); }

TYPED_TEST(Conformance, PostsArriveWholeAndInOrder) {
  TypeParam::run(3, [](auto& f) -> Task {
    f.begin(1);
    for (int i = 1; i <= 40; ++i) {
      const Step step = f.next_step();
      EXPECT_EQ(step, static_cast<Step>(i));
      const Payload mine = payload_of(f.rank(), step);
      co_await f.room(step);
      f.post(step, bytes_of(mine));
      for (int q = 0; q < f.size(); ++q) {
        if (q == f.rank()) continue;
        Payload theirs;
        const std::byte* payload = co_await f.posted(q, step);
        std::memcpy(&theirs, payload, sizeof theirs);
        EXPECT_EQ(theirs, payload_of(q, step));
      }
      f.finish(step);
    }
  });
}

// One posts, others read at their own pace: room() keeps the poster from overwriting what they
// have not read, and nothing else holds it up.
TYPED_TEST(Conformance, RoomBoundsThePoster) {
  std::array<std::atomic<Step>, 3> reached{};
  TypeParam::run(3, [&](auto& f) -> Task {
    f.begin(1);
    reached[static_cast<std::size_t>(f.rank())] = 0;
    for (std::size_t i = 0; i < 4 * segment::ring; ++i) {
      const Step step = f.next_step();
      if (f.rank() == 0) {
        const Payload mine = payload_of(0, step);
        co_await f.room(step);
        for (std::size_t q : {1u, 2u}) EXPECT_LE(step, reached[q].load() + segment::ring + 1);
        f.post(step, bytes_of(mine));
      } else {
        Payload theirs;
        const std::byte* payload = co_await f.posted(0, step);
        std::memcpy(&theirs, payload, sizeof theirs);
        EXPECT_EQ(theirs, payload_of(0, step));
        reached[static_cast<std::size_t>(f.rank())] = step;
      }
      f.finish(step);
    }
  });
}

TYPED_TEST(Conformance, StagingSlotsAreNotReusedTooEarly) {
  TypeParam::run(2, [](auto& f) -> Task {
    f.begin(1);
    for (int i = 0; i < 20; ++i) {
      const Step step = f.next_step();
      if (f.rank() == 0) {
        co_await f.staging_room(step);
        std::memset(f.staging(0, step), static_cast<int>(step), segment::staging_bytes);
        f.post(step, {});
      } else {
        co_await f.posted(0, step);
        const std::byte* slot = f.staging(0, step);
        EXPECT_EQ(slot[0], static_cast<std::byte>(step));
        EXPECT_EQ(std::memcmp(slot, slot + 1, segment::staging_bytes - 1), 0);
      }
      f.finish(step);
    }
  });
}

TYPED_TEST(Conformance, EachChunkIsClaimedOnce) {
  constexpr std::uint32_t chunks = 37;
  constexpr int rounds = 12;
  using Counts = std::array<std::array<std::atomic<int>, chunks>, rounds>;
  std::unique_ptr<Counts> done;
  TypeParam::run(4, [&](auto& f) -> Task {
    f.begin(1);
    for (std::size_t round = 0; round < rounds; ++round) {
      const Step step = f.next_step();
      if (f.rank() == 1) {
        if (round == 0) done = std::make_unique<Counts>();
        f.open_share(step);
      }
      co_await f.room(step);
      f.post(step, {});
      for (int q = 0; q < f.size(); ++q)
        if (q != f.rank()) co_await f.posted(q, step);
      std::int64_t index;
      while ((index = f.claim(1, step, chunks)) != no_chunk) {
        EXPECT_LT(index, std::int64_t{chunks});
        ++(*done)[round][static_cast<std::size_t>(index)];
        co_await f.pause(0);
        f.land(1, step);
      }
      // Only rank 1 waits: the others may be late, and then must not take part in the next share.
      if (f.rank() == 1) {
        co_await f.landed(1, step, chunks);
        for (const std::atomic<int>& times : (*done)[round]) EXPECT_EQ(times.load(), 1);
      } else {
        co_await f.pause(0);
        if (round > 0) {
          EXPECT_EQ(f.claim(1, step - 1, chunks), no_chunk);
        }
      }
      f.finish(step);
    }
  });
}

// Chunk data written by any member is seen by all that waited for the chunks to land.
TYPED_TEST(Conformance, LandedChunksAreVisibleToAll) {
  constexpr std::uint32_t chunks = 16;
  constexpr int rounds = 20;
  std::vector<std::uint64_t> data(rounds * chunks);
  TypeParam::run(3, [&](auto& f) -> Task {
    f.begin(1);
    for (std::size_t round = 0; round < rounds; ++round) {
      const Step step = f.next_step();
      if (f.rank() == 0) f.open_share(step);
      co_await f.room(step);
      f.post(step, {});
      for (int q = 0; q < f.size(); ++q)
        if (q != f.rank()) co_await f.posted(q, step);
      f.everyone_arrived();
      std::int64_t index;
      while ((index = f.claim(0, step, chunks)) != no_chunk) {
        co_await f.pause(0);
        data[round * chunks + static_cast<std::size_t>(index)] = step;
        f.land(0, step);
      }
      co_await f.landed(0, step, chunks);
      for (std::size_t i = 0; i < chunks; ++i) EXPECT_EQ(data[round * chunks + i], step);
      f.finish(step);
    }
  });
}

TYPED_TEST(Conformance, OfferedBuffersAreReached) {
  TypeParam::run(2, [](auto& f) -> Task {
    f.begin(1);
    std::vector<std::uint64_t> mine(20'000, 0);
    for (std::uint64_t i = 0; i < 5'000; ++i) mine[i] = i * 3 + static_cast<unsigned>(f.rank());
    const int peer = 1 - f.rank();
    const Step step = f.next_step();
    const Card card = f.offer(mine.data(), mine.size() * 8);
    co_await f.room(step);
    f.post(step, std::as_bytes(std::span(&card, 1)));
    Card theirs;
    const std::byte* payload = co_await f.posted(peer, step);
    std::memcpy(&theirs, payload, sizeof theirs);
    EXPECT_EQ(f.map(f.rank(), card), reinterpret_cast<std::byte*>(mine.data()));
    std::vector<std::uint64_t> copy(5'000);
    std::byte* window = f.map(peer, theirs);
    EXPECT_EQ(window != nullptr, theirs.transport == Transport::mapped);
    if (window != nullptr) {
      std::memcpy(copy.data(), window, copy.size() * 8);
      std::memcpy(window + 80'000, copy.data(), copy.size() * 8);
    } else if (theirs.transport == Transport::copied) {
      f.read(peer, theirs, 0, copy.data(), copy.size() * 8);
      f.write(peer, theirs, 80'000, copy.data(), copy.size() * 8);
    }
    if (theirs.transport != Transport::staged) {
      for (std::uint64_t i = 0; i < 5'000; ++i)
        EXPECT_EQ(copy[i], i * 3 + static_cast<unsigned>(peer));
    }
    const Step last = f.next_step();
    co_await f.room(last);
    f.post(last, {});
    co_await f.posted(peer, last);
    if (card.transport != Transport::staged) {
      for (std::uint64_t i = 0; i < 5'000; ++i)
        EXPECT_EQ(mine[10'000 + i], i * 3 + static_cast<unsigned>(f.rank()));
    }
    f.finish(last);
  });
}

TYPED_TEST(Conformance, ScratchIsOnesOwnAndGrows) {
  TypeParam::run(3, [](auto& f) -> Task {
    for (const std::size_t bytes : {100u, 5'000u, 300'000u, 100u}) {
      std::byte* mine = f.scratch(bytes);
      std::memset(mine, f.rank() + 1, bytes);
      co_await f.pause(0);
      EXPECT_EQ(mine, f.scratch(bytes));
      for (std::size_t i = 0; i < bytes; ++i)
        if (mine[i] != static_cast<std::byte>(f.rank() + 1)) {
          ADD_FAILURE() << "another rank wrote here";
          break;
        }
    }
  });
}

TEST(Frames, MemoryThatThereIsNotEndsTheProcessWithASentence) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "it ends the process itself";
#endif
  EXPECT_DEATH((void)frames::allocate(std::size_t{1} << 62), "out of memory: [0-9]+ bytes");
}

TEST(NodeFabric, AMismatchIsAnEmergency) {
  EXPECT_DEATH(
      {
        test::ThreadRanks ranks(2);
        const auto body = [](NodeFabric& f) -> Task {
          f.begin(f.rank() == 0 ? 10 : 11);
          const Step step = f.next_step();
          f.post(step, {});
          co_await f.posted(1 - f.rank(), step);
        };
        ranks.run(body);
      },
      "emergency: mismatch, peer [01]");
}

}  // namespace
}  // namespace tutti::fabric
