// SPDX-License-Identifier: BSD-3-Clause
// The arithmetic of the split trees, against the formulas of Denis et al. 2019.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "coll/tree/shape.h"

namespace tutti::coll::tree {
namespace {

TEST(Tree, HasTheHeightOfEquation3) {
  for (int ranks = 1; ranks <= 300; ++ranks)
    EXPECT_EQ(Shape(ranks, 0).height(), std::ceil(std::log2(ranks))) << ranks;
}

// Equation 5, with the sign that makes them ranks - 1 in all.
TEST(Tree, HasTheEdgesOfEquation5) {
  for (int ranks = 1; ranks <= 130; ++ranks)
    for (const int root : {0, ranks / 2, ranks - 1}) {
      const Shape shape(ranks, root);
      int all = 0;
      for (int level = 1; level <= shape.height(); ++level) {
        int edges = 0;
        for (int rank = 0; rank < ranks; ++rank) edges += shape.edge(rank, level).up ? 1 : 0;
        EXPECT_EQ(edges, std::ceil(ranks / std::pow(2, level) - 0.5)) << ranks << ' ' << level;
        all += edges;
      }
      EXPECT_EQ(all, ranks - 1);
    }
}

// Both ends know of an edge, only the root is left, and halves meet that follow each other.
TEST(Tree, EndsAgree) {
  for (int ranks = 1; ranks <= 70; ++ranks)
    for (int root = 0; root < ranks; ++root) {
      const Shape shape(ranks, root);
      std::vector<std::set<int>> held(static_cast<std::size_t>(ranks));
      for (int rank = 0; rank < ranks; ++rank) held[static_cast<std::size_t>(rank)] = {rank};
      for (int level = 1; level <= shape.height(); ++level)
        for (int rank = 0; rank < ranks; ++rank) {
          const Edge edge = shape.edge(rank, level);
          if (!edge.exists()) continue;
          const Edge back = shape.edge(edge.peer, level);
          ASSERT_EQ(back.peer, rank);
          ASSERT_NE(back.up, edge.up);
          if (edge.up) continue;
          auto& mine = held[static_cast<std::size_t>(rank)];
          auto& theirs = held[static_cast<std::size_t>(edge.peer)];
          ASSERT_TRUE(*mine.rbegin() + 1 == *theirs.begin() ||
                      *theirs.rbegin() + 1 == *mine.begin());
          ASSERT_EQ(shape.top(edge.peer), level);
          ASSERT_EQ(shape.held(edge.peer).first, *theirs.begin());
          ASSERT_EQ(shape.held(edge.peer).count, static_cast<int>(theirs.size()));
          mine.merge(theirs);
        }
      EXPECT_EQ(held[static_cast<std::size_t>(root)].size(), static_cast<std::size_t>(ranks));
      EXPECT_EQ(shape.top(root), shape.height() + 1);
    }
}

TEST(Tree, CountsChildren) {
  for (int ranks = 1; ranks <= 70; ++ranks) {
    const Shape shape(ranks, ranks / 3);
    int all = 0;
    for (int rank = 0; rank < ranks; ++rank) all += shape.children(rank);
    EXPECT_EQ(all, ranks - 1);
  }
}

}  // namespace
}  // namespace tutti::coll::tree
