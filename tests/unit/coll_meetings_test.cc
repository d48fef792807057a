// SPDX-License-Identifier: BSD-3-Clause
// In which order operands meet: as docs/algorithms.md has it, written out.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "coll/meetings.h"

namespace tutti::coll {
namespace {

// The meetings of so many operands in words. Operands are copied to places, where nothing that
// still waits may be.
std::string order_of(Order order, int operands) {
  std::vector<std::string> places(places_of(operands));
  for (const Meeting* meeting = meetings_of(order, operands);; ++meeting) {
    std::vector<std::string> who;
    for (int i = 0; i < meeting->count; ++i) {
      const int q = meeting->from[static_cast<std::size_t>(i)];
      std::string& place = places.at(static_cast<std::size_t>(meeting->place + i));
      if (q >= 0) {
        EXPECT_EQ(place, "") << "of " << operands;
        place = std::to_string(q);
      }
      who.push_back(std::exchange(place, ""));
    }
    std::string sum = who[0];
    if (who.size() == 2) sum = "(" + who[0] + " " + who[1] + ")";
    if (who.size() == 4) sum = "((" + who[0] + " " + who[1] + ") (" + who[2] + " " + who[3] + "))";
    if (meeting->last) return sum;
    places.at(static_cast<std::size_t>(meeting->place)) = sum;
  }
}

TEST(Meetings, OfATree) {
  constexpr const char* wanted[] = {
      "0",
      "(0 1)",
      "((0 1) 2)",
      "((0 1) (2 3))",
      "(((0 1) 2) (3 4))",
      "(((0 1) (2 3)) (4 5))",
      "(((0 1) (2 3)) ((4 5) 6))",
      "(((0 1) (2 3)) ((4 5) (6 7)))",
      "((((0 1) 2) (3 4)) ((5 6) (7 8)))",
      "((((0 1) (2 3)) (4 5)) ((6 7) (8 9)))",
  };
  for (int i = 0; i < static_cast<int>(std::size(wanted)); ++i)
    EXPECT_EQ(order_of(Order::tree, i + 1), wanted[i]);
}

TEST(Meetings, OneAfterTheOther) {
  std::string wanted = "0";
  for (int operands = 1; operands <= 40; ++operands) {
    EXPECT_EQ(order_of(Order::rank, operands), wanted);
    wanted = "(" + wanted + " " + std::to_string(operands) + ")";
  }
}

// Whatever their number, neighbours meet, all of them, in the places that there are.
TEST(Meetings, KeepTheOrderOfRanks) {
  for (int operands = 1; operands <= 1100; ++operands) {
    std::string ranks;
    for (int q = 0; q < operands; ++q) ranks += (q > 0 ? " " : "") + std::to_string(q);
    std::string met = order_of(Order::tree, operands);
    std::erase_if(met, [](char c) { return c == '(' || c == ')'; });
    ASSERT_EQ(met, ranks);
  }
}

}  // namespace
}  // namespace tutti::coll
