// SPDX-License-Identifier: BSD-3-Clause
// What communicators with the same members share, and what a rank of many keeps for each.
#include "mpi/membership.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <numeric>
#include <random>
#include <ranges>

// Of the heap, as far as C++ allocates it.
static std::atomic<std::size_t> g_live_bytes{0};

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) std::abort();
  g_live_bytes += malloc_usable_size(memory);
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  if (memory != nullptr) g_live_bytes -= malloc_usable_size(memory);
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  operator delete(memory);
}

namespace tutti::mpi {
namespace {

const Runs hosts = {0, 0, 1, 1, 2};

TEST(Memberships, AreOneOfTheSameMembersInTheSameOrder) {
  Memberships all;
  const auto world = all.of({0, 1, 2, 3, 4}, hosts, 3);
  EXPECT_EQ(world->map.rank(), 3);
  EXPECT_EQ(world->map.nodes(), 3);
  EXPECT_EQ(all.of({0, 1, 2, 3, 4}, hosts, 3), world);
  const auto turned = all.of({4, 3, 2, 1, 0}, hosts, 1);
  EXPECT_NE(turned, world);
  EXPECT_EQ(turned->map.rank(), 1);
  EXPECT_EQ(turned->map.members(0).size(), 1U);
  const auto few = all.of({0, 3}, hosts, 1);
  EXPECT_NE(few, world);
  EXPECT_EQ(few->map.nodes(), 2);
  EXPECT_EQ(all.of({0, 3}, hosts, 1), few);
}

TEST(Memberships, GoWithTheLastOfTheirCommunicators) {
  Memberships all;
  std::weak_ptr<const Membership> gone = all.of({0, 2}, hosts, 0);
  EXPECT_TRUE(gone.expired());
  auto one = all.of({0, 2}, hosts, 0), other = all.of({0, 2}, hosts, 0);
  gone = one;
  one.reset();
  EXPECT_FALSE(gone.expired());
  other.reset();
  EXPECT_TRUE(gone.expired());
}

// Of a job of many ranks, one node after the other or in turns over them: for each node, and for
// each rank of one.
TEST(Memberships, TakeMemoryForNodesAndRanksOfOne) {
  constexpr int nodes = 256, near = 64, members = nodes * near;
  for (const bool in_turns : {false, true}) {
    Runs many_hosts;
    for (int i = 0; i < members; ++i) many_hosts.push_back(in_turns ? i % nodes : i / near * near);
    many_hosts.shrink();
    const auto everyone = [] { return Runs(std::views::iota(0, nodes * near)); };
    Memberships all;
    std::vector<std::shared_ptr<const Membership>> duplicates;
    duplicates.reserve(1000);
    const std::size_t before = g_live_bytes;
    duplicates.push_back(all.of(everyone(), many_hosts, 5));
    const std::size_t one = g_live_bytes - before;
    EXPECT_LE(one + many_hosts.bytes(), 11U * 1024U) << in_turns;  // as docs/nodes.md says
    while (duplicates.size() < duplicates.capacity())
      duplicates.push_back(all.of(everyone(), many_hosts, 5));
    EXPECT_EQ(g_live_bytes - before, one);
    EXPECT_EQ(duplicates[0]->map.nodes(), nodes);
    EXPECT_EQ(duplicates[0]->map.members(3)[1], in_turns ? 3 + nodes : 3 * near + 1);
  }
}

// In no order at all.
TEST(Memberships, TakeThirtyBytesForEachMemberAtMost) {
  constexpr int nodes = 257, members = 16384;
  std::vector<int> ranks(members), places(members);
  std::iota(ranks.begin(), ranks.end(), 0);
  std::ranges::shuffle(ranks, std::mt19937(1));
  for (int i = 0; i < members; ++i) places[static_cast<std::size_t>(i)] = i % nodes;
  std::ranges::shuffle(places, std::mt19937(2));
  const Runs many_hosts(places);
  Memberships all;
  const std::size_t before = g_live_bytes;
  const auto membership = all.of(Runs(ranks), many_hosts, 5);
  EXPECT_LE(g_live_bytes - before + many_hosts.bytes(), 30U * members + 4U * nodes + 1024U);
  for (const int member : {0, 5, members - 1}) {
    const int rank = membership->ranks[static_cast<std::size_t>(member)];
    EXPECT_EQ(rank, ranks[static_cast<std::size_t>(member)]);
    EXPECT_EQ(membership->map.members(membership->map.node_of(
                  member))[static_cast<std::size_t>(membership->map.place_of(member))],
              member);
  }
}

TEST(MemberCounts, AreKeptForThoseThatOneSendsTo) {
  MemberCounts counts;
  for (const int member : {0, 63, 64, 16383}) {
    EXPECT_EQ(counts[member], 0U);
    counts[member] = static_cast<std::uint32_t>(member) + 1;
  }
  for (const int member : {0, 63, 64, 16383})
    EXPECT_EQ(counts[member], static_cast<std::uint32_t>(member) + 1);
  EXPECT_EQ(counts[1], 0U);
  // 14 partners of 16384 members.
  MemberCounts few;
  for (int distance = 1; distance < 16384; distance *= 2) few[distance] = 1;
  EXPECT_LT(few.bytes(), 16384 / 4);
}

}  // namespace
}  // namespace tutti::mpi
