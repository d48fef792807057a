// SPDX-License-Identifier: BSD-3-Clause
// The binomial tree of Denis et al. 2019, section 6, as arithmetic on ranks; no messages here.
//
// Level 0 has every rank alone. At level i the ranks are cut into blocks of 2^i that follow each
// other, and the two halves of a block meet. One member of each half, its holder, has what the
// whole half has (going up), or what it needs (going down). The holder of a block is its first
// member, or the root where the root is in it. So any rank can be the root of the same tree, and
// halves always meet in the order of the ranks. Operations that do not commute are right. Where the
// second half is empty, nothing happens at that level. With N ranks, level i has
// ceil(N / 2^i - 1/2) edges, and there are N - 1 in all. That is equation 5, with another sign than
// it is printed with.
#pragma once

#include <algorithm>

namespace tutti::coll::tree {

// Whom a rank meets at a level.
struct Edge {
  int peer = -1;    // -1: nobody
  bool up = false;  // the peer holds the whole block afterwards; this rank is done, going up

  [[nodiscard]] bool exists() const { return peer >= 0; }
};

// Ranks that follow each other.
struct Range {
  int first = 0;
  int count = 0;
};

class Shape {
 public:
  Shape(int ranks, int root) : ranks_(ranks), root_(root) {}

  // ceil(log2(ranks)).
  [[nodiscard]] int height() const {
    int height = 0;
    while ((1 << height) < ranks_) ++height;
    return height;
  }

  [[nodiscard]] Range block(int rank, int level) const {
    const int first = rank >> level << level;
    return {first, std::min(1 << level, ranks_ - first)};
  }

  [[nodiscard]] int holder(int rank, int level) const {
    const Range its = block(rank, level);
    return its.first <= root_ && root_ < its.first + its.count ? root_ : its.first;
  }

  // From level 1 to height().
  [[nodiscard]] Edge edge(int rank, int level) const {
    if (holder(rank, level - 1) != rank) return {};
    const int other = (rank >> (level - 1) ^ 1) << (level - 1);  // first of the other half
    if (other >= ranks_) return {};
    return {holder(other, level - 1), holder(rank, level) != rank};
  }

  // The level at which a rank's block goes up to another one; height() + 1 for the root.
  [[nodiscard]] int top(int rank) const {
    int level = 1;
    while (level <= height() && !edge(rank, level).up) ++level;
    return level;
  }

  // The whole block that a rank holds in the end.
  [[nodiscard]] Range held(int rank) const { return block(rank, top(rank) - 1); }

  // How many others hand theirs up to this rank.
  [[nodiscard]] int children(int rank) const {
    int count = 0;
    for (int level = 1; level < top(rank); ++level) count += edge(rank, level).exists() ? 1 : 0;
    return count;
  }

 private:
  int ranks_;
  int root_;
};

}  // namespace tutti::coll::tree
