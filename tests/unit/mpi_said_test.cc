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

// Ranks by host and machine, of large tags.
std::vector<Said> ranks(std::initializer_list<std::pair<int, std::uint32_t>> places) {
  std::vector<Said> said;
  for (const auto& [host, machine] : places) said.push_back({host, fact_of_tag(INT_MAX), machine});
  return said;
}

TEST(Said, TellsWhetherNodesMayShareMachines) {
  const auto may_share = [](std::initializer_list<std::pair<int, std::uint32_t>> places) {
    return hear(ranks(places)).may_share_machines;
  };
  EXPECT_FALSE(may_share({{0, 7}, {0, 7}, {2, 8}, {2, 8}}));
  EXPECT_FALSE(may_share({{0, 7}, {1, 8}, {0, 7}, {1, 8}})) << "in turns";
  EXPECT_TRUE(may_share({{0, 7}, {0, 7}, {2, 7}, {2, 7}}));
  EXPECT_TRUE(may_share({{0, 7}, {1, 8}, {0, 7}, {3, 8}}));
  EXPECT_TRUE(may_share({{-1, 7}, {-1, 7}})) << "they may be of several nodes";
  EXPECT_TRUE(may_share({{0, 7}, {2, 8}, {-1, 7}}));
  EXPECT_TRUE(may_share({{-1, 7}, {2, 8}, {0, 7}}));
  EXPECT_FALSE(may_share({{-1, 7}, {2, 8}}));
}

TEST(Said, TellsWhetherRanksMayBeLinked) {
  const auto linked = [](std::initializer_list<std::pair<int, std::uint32_t>> places) {
    return hear(ranks(places)).has_two_hosts;
  };
  EXPECT_TRUE(linked({{0, 7}, {0, 7}, {2, 8}}));
  EXPECT_TRUE(linked({{-1, 6}, {1, 7}, {2, 8}}));
  EXPECT_FALSE(linked({{0, 7}, {0, 7}, {-1, 8}}));
  EXPECT_FALSE(linked({{-1, 7}, {1, 8}, {1, 8}}));
  EXPECT_FALSE(linked({{-1, 7}, {-1, 8}}));
}

TEST(Said, FactsOfAnyRankAreHeardAndTheLowestTag) {
  const auto largest = [](int tag) {
    return hear(std::vector<Said>{{0, fact_of_tag(INT_MAX), 0}, {1, fact_of_tag(tag), 1}})
        .largest_tag;
  };
  for (const int tag : {0, 1, 32767, (1 << 19) - 1, INT_MAX}) EXPECT_EQ(largest(tag), tag);
  EXPECT_EQ(largest(-1), 0);
  EXPECT_EQ(largest(77823), 65535);
  const auto tag = fact_of_tag(32767);
  const Heard heard =
      hear(std::vector<Said>{{0, tag | Said::contested, 0}, {1, tag | Said::lacks_core, 1}});
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
  std::vector<Said> in_order, in_turns;
  for (int rank = 0; rank < many; ++rank) {
    const auto node = rank / near, turn = rank % (many / near);
    in_order.push_back({node, 0, static_cast<std::uint32_t>(node)});
    in_turns.push_back({turn, 0, static_cast<std::uint32_t>(turn)});
  }
  const auto time = [](const char* name, const std::vector<Said>& said) {
    const std::clock_t began = std::clock();
    EXPECT_FALSE(hear(said).may_share_machines);
    const std::clock_t took = std::clock() - began;
    RecordProperty(name, static_cast<int>(took));
    EXPECT_LT(took, CLOCKS_PER_SEC / 5);
  };
  time("in_order_us", in_order);
  time("in_turns_us", in_turns);
}

}  // namespace
}  // namespace tutti::mpi
