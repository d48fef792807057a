// SPDX-License-Identifier: BSD-3-Clause
// What communicators with the same members share, and what a rank of many keeps for each.
#include "mpi/membership.h"

#include <gtest/gtest.h>

namespace tutti::mpi {
namespace {

const std::vector<std::int32_t> hosts = {0, 0, 1, 1, 2};

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
