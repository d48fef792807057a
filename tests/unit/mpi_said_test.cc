// SPDX-License-Identifier: BSD-3-Clause
// What follows from what the ranks of a job say of themselves.
#include "mpi/said.h"

#include <gtest/gtest.h>

#include <climits>
#include <ctime>
#include <vector>

#include "engine/across.h"

namespace tutti::mpi {
namespace {

// A rank on that node; negative: it may not be linked.
Said rank_on(int host, std::uint32_t facts = fact_of_tag(INT_MAX)) {
  return {{.cores_id = 1, .cores = 1, .node = host}, facts | (host < 0 ? Said::unlinked : 0)};
}

TEST(Said, TellsWhetherRanksMayBeLinked) {
  const auto linked = [](std::initializer_list<int> hosts) {
    std::vector<Said> said;
    for (const int host : hosts) said.push_back(rank_on(host));
    return hear(said).has_two_hosts;
  };
  EXPECT_TRUE(linked({0, 0, 2}));
  EXPECT_TRUE(linked({-1, 1, 2}));
  EXPECT_FALSE(linked({0, 0, -1}));
  EXPECT_FALSE(linked({-1, 1, 1}));
  EXPECT_FALSE(linked({-1, -1}));
  Said leaves = rank_on(3);
  EXPECT_EQ(leaves.host(), 3);
  leaves.facts |= Said::unlinked;
  EXPECT_EQ(leaves.host(), -1) << "whatever node it is on";
}

TEST(Said, FactsOfAnyRankAreHeardAndTheLowestTag) {
  const auto largest = [](int tag) {
    return hear(std::vector<Said>{rank_on(0), rank_on(1, fact_of_tag(tag))}).largest_tag;
  };
  for (const int tag : {0, 1, 32767, (1 << 19) - 1, INT_MAX}) EXPECT_EQ(largest(tag), tag);
  EXPECT_EQ(largest(-1), 0);
  EXPECT_EQ(largest(77823), 65535);
  const auto tag = fact_of_tag(32767);
  const Heard heard = hear(
      std::vector<Said>{rank_on(0, tag | Said::contested), rank_on(1, tag | Said::lacks_core)});
  const std::uint32_t own = (std::uint32_t{1} << Said::tag_shift) - 1;
  EXPECT_EQ(heard.facts & own, Said::contested | Said::lacks_core);
}

TEST(SaidOptions, AreRankZerosButForForcedAlgorithms) {
  coll::leaders::Way way;
  std::size_t longest = 0;
  const std::vector<SaidOptions> said = {
      {.packed_bytes = 64, .longest_message = 9, .leaders = 3, .forced = {0, 2}},
      {.packed_bytes = 1, .longest_message = 2, .leaders = 1, .forced = {5, 4}},
      {.packed_bytes = 1, .longest_message = 2, .leaders = 1, .forced = {6, choice::forced_mpi}}};
  follow(said, way, longest);
  EXPECT_EQ(way.packed_bytes, 64U);
  EXPECT_EQ(longest, 9U);
  EXPECT_EQ(way.leaders, 3);
  EXPECT_EQ(way.forced, (choice::Forced{5, choice::forced_mpi}));
}

// Jobs without options say none: they would all say 40 bytes more.
TEST(SaidOptions, AreNotSaidWhereNobodyHasAny) {
  EXPECT_FALSE(has_options(engine::way_of_options(), 0));
  EXPECT_TRUE(has_options({}, 1));
  EXPECT_TRUE(has_options({.leaders = 1}, 0));
  EXPECT_TRUE(has_options({.packed_bytes = 1}, 0));
  EXPECT_TRUE(has_options({.forced = {1}}, 0));
}

TEST(Said, OfManyRanksIsSeenThroughAtOnce) {
  constexpr int many = 131072, near = 64;
  std::vector<Said> said;
  for (int rank = 0; rank < many; ++rank) said.push_back(rank_on(rank / near));
  const std::clock_t began = std::clock();
  EXPECT_TRUE(hear(said).has_two_hosts);
  const std::clock_t took = std::clock() - began;
  RecordProperty("us", static_cast<int>(took));
  EXPECT_LT(took, CLOCKS_PER_SEC / 5);
}

}  // namespace
}  // namespace tutti::mpi
