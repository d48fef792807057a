// SPDX-License-Identifier: BSD-3-Clause
// A random sequence of collectives, as all ranks call it, drawn from a seed.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "coll/late/rows.h"
#include "coll/nonblocking.h"
#include "coll/tables.h"
#include "support/kinds.h"

namespace tutti::test {

using coll::Collective;

// The rows of a collective's table, and behind them those that progress threads run, and those of
// late reductions.
template <fabric::Fabric F>
const std::vector<coll::Row<F>>& all_rows(Collective collective) {
  static const auto all = [] {
    std::vector<std::vector<coll::Row<F>>> tables;
    for (int c = 0; c < coll::collective_count; ++c) {
      const auto blocking = coll::rows_of<F>(static_cast<Collective>(c));
      const auto others = coll::nonblocking_rows_of<F>(static_cast<Collective>(c));
      tables.emplace_back(blocking.begin(), blocking.end());
      const auto late = coll::late_rows_of<F>(static_cast<Collective>(c));
      tables.back().insert(tables.back().end(), others.begin(), others.end());
      tables.back().insert(tables.back().end(), late.begin(), late.end());
    }
    return tables;
  }();
  return all[static_cast<std::size_t>(collective)];
}

// A row of one of the tables.
struct Algorithm {
  Collective collective;
  std::size_t row;
  bool late = false;
};

// Whether all ranks know how much is moved.
inline bool knows_sizes(Collective collective) {
  return collective != Collective::gatherv && collective != Collective::scatterv &&
         collective != Collective::alltoallv && collective != Collective::alltoallw;
}

template <fabric::Fabric F>
std::vector<Algorithm> all_algorithms() {
  std::vector<Algorithm> all;
  for (int c = 0; c < coll::collective_count; ++c)
    for (std::size_t row = 0; row < all_rows<F>(static_cast<Collective>(c)).size(); ++row) {
      const auto collective = static_cast<Collective>(c);
      const std::size_t late = coll::late_rows_of<F>(collective).size();
      const Algorithm algorithm{collective, row, row + late >= all_rows<F>(collective).size()};
      // Small blocks ride in a line only where all know that they are small.
      if (!knows_sizes(algorithm.collective) &&
          !all_rows<F>(algorithm.collective)[row].fits({2, 0}))
        continue;
      all.push_back(algorithm);
    }
  return all;
}

template <fabric::Fabric F>
std::string name_of(const Algorithm& algorithm) {
  return std::string(coll::name_of(algorithm.collective)) + (algorithm.late ? "_late_" : "_") +
         all_rows<F>(algorithm.collective)[algorithm.row].name;
}

// A tree folds in another order than all the others, which associative operations do not notice.
template <fabric::Fabric F>
bool regroups(const Algorithm& algorithm) {
  const bool folds =
      algorithm.collective == Collective::reduce || algorithm.collective == Collective::allreduce;
  return folds && !algorithm.late && algorithm.row >= coll::rows_of<F>(algorithm.collective).size();
}

// One collective of the sequence.
struct Op {
  Algorithm algorithm{};
  int root = 0;
  std::size_t kind = 0;  // index into kinds
  std::size_t count = 0;
  bool in_place = false;
  coll::Order order = coll::Order::tree;
  std::uint64_t seed = 0;  // of its data, and of what ranks may choose alone

  [[nodiscard]] std::size_t bytes() const { return count * kinds[kind].bytes; }
};

// What all ranks know of it.
inline coll::Facts facts_of(const Op& op, int ranks) {
  if (!knows_sizes(op.algorithm.collective)) return {ranks, 0};
  if (op.algorithm.collective == Collective::allgatherv)  // of all blocks together, at most
    return {ranks, op.bytes() * static_cast<std::size_t>(ranks)};
  return {ranks, op.bytes()};
}

struct Script {
  int ranks = 0;
  std::vector<Op> ops;
};

struct Limits {
  std::size_t ops = 12;
  // Of all ranks' buffers in one collective; larger ones are drawn, but rarely.
  std::size_t usual_bytes = std::size_t{128} << 10;
  std::size_t most_bytes = std::size_t{4} << 20;
};

namespace detail {

// Sizes at and around everything that algorithms treat differently.
inline std::size_t draw_bytes(std::mt19937_64& random, std::size_t element) {
  constexpr std::size_t kib = 1024;
  constexpr std::size_t edges[] = {1,         segment::payload_bytes,
                                   2 * kib,   8 * kib,
                                   64 * 40,   segment::staging_bytes,
                                   32 * kib,  8 * kib,
                                   64 * kib,  limits::copied_bytes,
                                   96 * kib,  2 * segment::staging_bytes,
                                   128 * kib, 256 * kib,
                                   512 * kib, 1024 * kib + 4096};
  const std::size_t edge = edges[random() % std::size(edges)];
  switch (random() % 4) {
    case 0:
      return 1 + random() % segment::payload_bytes;
    case 1:
      return 1 + random() % (2 * edge);
    default:  // within one element of the edge
      return edge + element > 2 * element ? edge - element + random() % 3 * element : edge;
  }
}

inline int draw_ranks(std::mt19937_64& random) {
  constexpr int many[] = {1, 6, 7, 8, 9, 13, 16, 33, 64};
  if (random() % 16 == 0) return many[random() % std::size(many)];
  return 2 + static_cast<int>(random() % 4);
}

}  // namespace detail

template <fabric::Fabric F>
Op draw_op(std::mt19937_64& random, const Algorithm& algorithm, int ranks, const Limits& limits) {
  Op op{.algorithm = algorithm,
        .root = static_cast<int>(random() % static_cast<unsigned>(ranks)),
        .kind = random() % std::size(kinds),
        .in_place = random() % 3 == 0,
        .order = random() % 3 == 0 ? coll::Order::rank : coll::Order::tree,
        .seed = random()};
  if (algorithm.collective == Collective::barrier) return op;
  const auto& row = all_rows<F>(algorithm.collective)[algorithm.row];
  for (;; op.kind = random() % std::size(kinds)) {
    if (regroups<F>(algorithm) && !kinds[op.kind].associates) continue;
    const std::size_t element = kinds[op.kind].bytes;
    if (element > coll::most_slot_element_bytes && !algorithm.late) continue;
    op.count = std::max<std::size_t>(1, detail::draw_bytes(random, element) / element);
    std::size_t all_bytes = op.bytes() * static_cast<std::size_t>(ranks);
    if (algorithm.collective >= Collective::alltoall &&
        algorithm.collective <= Collective::alltoallw)
      all_bytes *= static_cast<std::size_t>(ranks);
    if (all_bytes > limits.most_bytes) continue;
    if (all_bytes > limits.usual_bytes && random() % 32 != 0) continue;
    if (row.fits(facts_of(op, ranks))) return op;
  }
}

// A sequence in which most calls are of `algorithm`, the others of any.
template <fabric::Fabric F>
Script draw_script(std::mt19937_64& random, const Algorithm& algorithm, int ranks,
                   const Limits& limits = {}) {
  Script script{.ranks = ranks, .ops = {}};
  const auto all = all_algorithms<F>();
  const std::size_t ops = 1 + random() % limits.ops;
  while (script.ops.size() < ops) {
    const Algorithm& next = random() % 3 != 0 ? algorithm : all[random() % all.size()];
    // At times more of the same than a desk has slots, or lines.
    constexpr std::size_t rows[] = {segment::slots + 1, segment::ring + 1};
    const std::size_t repeats = random() % 8 == 0 ? rows[random() % 2] : 1;
    Op op = draw_op<F>(random, next, ranks, limits);
    for (std::size_t i = 0; i < repeats; ++i, op.seed = random()) {
      if (i > 0 && op.bytes() > 1024) break;
      script.ops.push_back(op);
    }
  }
  return script;
}

}  // namespace tutti::test
