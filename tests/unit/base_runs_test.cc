// SPDX-License-Identifier: BSD-3-Clause
// Sequences that take memory for each run, against vectors.
#include "base/runs.h"

#include <gtest/gtest.h>

#include <climits>
#include <random>

namespace tutti {
namespace {

void expect_same(const std::vector<std::int32_t>& values) {
  const Runs runs(values);
  ASSERT_EQ(runs.size(), values.size());
  EXPECT_EQ(runs.empty(), values.empty());
  EXPECT_TRUE(std::ranges::equal(runs, values));
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(runs[i], values[i]) << i;
  for (std::size_t begin = 0; begin <= values.size(); begin += 3)
    for (std::size_t end = begin; end <= values.size(); end += 5) {
      const Runs::Part part = runs.part(begin, end);
      const std::vector<std::int32_t> some(values.begin() + static_cast<std::ptrdiff_t>(begin),
                                           values.begin() + static_cast<std::ptrdiff_t>(end));
      ASSERT_EQ(part.size(), some.size());
      ASSERT_TRUE(std::ranges::equal(part, some));
      if (some.empty()) continue;
      EXPECT_EQ(part.front(), some.front());
      EXPECT_EQ(part.back(), some.back());
      EXPECT_EQ(part[some.size() / 2], some[some.size() / 2]);
    }
}

TEST(Runs, AreAsAVector) {
  expect_same({});
  expect_same({7});
  expect_same({7, -3});
  expect_same({0, 0, 1, 1, 1, 2});
  expect_same({INT_MIN, INT_MAX, INT_MIN, 0, INT_MAX, INT_MAX});
  for (unsigned seed = 1; seed <= 300; ++seed) {
    std::mt19937 random(seed);
    std::vector<std::int32_t> values;
    const std::size_t least = seed % 50 == 0 ? 400 : random() % 60;
    while (values.size() < least) {
      const auto first = static_cast<std::int32_t>(random() % 100) - 50;
      const auto step = static_cast<std::int32_t>(random() % 5) - 2;
      const auto length = static_cast<std::int32_t>(random() % 9);
      for (std::int32_t i = 0; i < length; ++i) values.push_back(first + step * i);
    }
    expect_same(values);
  }
}

TEST(Runs, AreSearchedAsAnyRange) {
  const Runs runs = {4, 4, 9, 1, 2, 3};
  const auto place = [&](std::int32_t value) {
    return std::ranges::distance(runs.begin(), std::ranges::find(runs, value));
  };
  EXPECT_EQ(place(4), 0);
  EXPECT_EQ(place(9), 2);
  EXPECT_EQ(place(3), 5);
  EXPECT_EQ(place(7), 6);
  auto next = runs.begin();
  EXPECT_EQ(*next++, 4);
  EXPECT_EQ(*++next, 9);
}

TEST(Runs, AreEqualIfTheirValuesAre) {
  EXPECT_EQ(Runs({1, 1, 2, 2}), Runs(std::vector{1, 1, 2, 2}));
  EXPECT_NE(Runs({1, 1, 2, 2}), Runs({1, 1, 2}));
  EXPECT_NE(Runs({1, 1, 2, 2}), Runs({1, 1, 2, 3}));
  Runs gone({1, 2, 4});
  gone.clear();
  EXPECT_EQ(gone, Runs());
  EXPECT_TRUE(gone.begin() == gone.end());
}

// Of many ranks, one node after the other or in turns.
TEST(Runs, TakeMemoryForEachRun) {
  constexpr int ranks = 16384, nodes = 256;
  Runs all, near, in_turns;
  for (int rank = 0; rank < ranks; ++rank) {
    all.push_back(rank);
    near.push_back(rank / (ranks / nodes));
    in_turns.push_back(rank % nodes);
  }
  EXPECT_LE(all.bytes(), 12U);
  EXPECT_LE(near.bytes(), 12U * nodes);
  EXPECT_LE(in_turns.bytes(), 12U * (ranks / nodes));
}

}  // namespace
}  // namespace tutti
