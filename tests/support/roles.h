// SPDX-License-Identifier: BSD-3-Clause
// What a rank's buffers look like in one collective of a script: how long they are, which blocks
// lie where, what they hold before and what they must hold after. Everything follows from the Op.
#pragma once

#include "support/script.h"

namespace tutti::test {

// Four bytes of every twelve.
inline const layout::Layout& gapped() {
  static const layout::Layout layout(layout::Typemap(4).resized(0, 12));
  return layout;
}

// Members of a collective that only moves data, and what passes between two of them.
class Blocks {
 public:
  Blocks(const Op& op, int ranks) : op_(op), ranks_(ranks) {}

  [[nodiscard]] bool gathers() const { return is(Collective::gather) || is(Collective::gatherv); }
  [[nodiscard]] bool scatters() const {
    return is(Collective::scatter) || is(Collective::scatterv);
  }
  [[nodiscard]] bool gathers_to_all() const {
    return is(Collective::allgather) || is(Collective::allgatherv);
  }
  [[nodiscard]] bool exchanges() const {
    return is(Collective::alltoall) || is(Collective::alltoallv) || is(Collective::alltoallw);
  }
  [[nodiscard]] bool varies() const {
    return is(Collective::gatherv) || is(Collective::scatterv) || is(Collective::allgatherv) ||
           is(Collective::alltoallv) || is(Collective::alltoallw);
  }
  // Whether `from` sends to `to` at all.
  [[nodiscard]] bool passes(int from, int to) const {
    return (!gathers() || to == op_.root) && (!scatters() || from == op_.root);
  }
  // What `from` sends to `to`. In place, what they send each other has one size.
  [[nodiscard]] std::size_t bytes(int from, int to) const {
    if (!varies() || op_.bytes() == 0) return op_.bytes();
    if (exchanges() && op_.in_place && from > to) std::swap(from, to);
    const std::uint64_t draw =
        mix(mix(op_.seed + number(from)) + number(gathers_to_all() ? 0 : to));
    if (draw % 4 == 0) return 0;
    return draw % 4 == 1 ? op_.bytes() : (draw >> 8) % (op_.bytes() + 1);
  }
  [[nodiscard]] std::uint64_t data_seed(int from, int to) const {
    return mix(op_.seed + number(from) * 0x100000001u) +
           number(gathers_to_all() || gathers() ? 0 : to);
  }

  // Blocks of a rank's buffer: to all it sends to, or from all that send to it; offsets in
  // `offset`.
  struct Side {
    std::vector<std::size_t> offsets, sizes;  // sizes are packed
    std::size_t bytes = 0;
    const layout::Layout* layout = nullptr;
  };
  [[nodiscard]] Side out(int rank) const {
    if (gathers_to_all() || gathers())
      return lay(1, rank, [&](int) { return bytes(rank, op_.root); });
    if (scatters() && rank != op_.root) return {};
    return lay(ranks_, rank, [&](int to) { return bytes(rank, to); });
  }
  [[nodiscard]] Side in(int rank) const {
    if (scatters()) return lay(1, rank, [&](int) { return bytes(op_.root, rank); });
    if (gathers() && rank != op_.root) return {};
    return lay(ranks_, rank + 7, [&](int from) { return bytes(from, rank); });
  }
  // Which of the own blocks is not sent: the rank has it already.
  [[nodiscard]] bool in_place(int rank) const {
    if (!op_.in_place) return false;
    // MPI wants it of all members; but each says so for itself.
    if (exchanges()) return op_.seed % 4 != 0 || mix(op_.seed + number(rank)) % 2 == 0;
    return gathers_to_all() || ((gathers() || scatters()) && rank == op_.root);
  }

 private:
  [[nodiscard]] bool is(Collective collective) const {
    return op_.algorithm.collective == collective;
  }
  static std::uint64_t number(int rank) { return static_cast<std::uint64_t>(rank) + 1; }

  // Blocks in order or in reverse, with gaps where counts vary.
  template <class Size>
  [[nodiscard]] Side lay(int count, int salt, Size size) const {
    Side side;
    // Every member chooses for itself how it describes its bytes.
    const bool gaps = mix(op_.seed + number(salt) * 3) % 4 == 0;
    if (gaps) side.layout = &gapped();
    const auto room = [gaps](std::size_t bytes) { return gaps ? (bytes + 3) / 4 * 12 : bytes; };
    side.offsets.resize(static_cast<std::size_t>(count));
    side.sizes.resize(static_cast<std::size_t>(count));
    const std::uint64_t draw = mix(op_.seed ^ mix(number(salt)));
    const bool reverse = varies() && draw % 3 == 0;
    for (int i = 0; i < count; ++i) {
      const auto index = static_cast<std::size_t>(reverse ? count - 1 - i : i);
      side.offsets[index] = side.bytes;
      side.sizes[index] = size(static_cast<int>(index));
      side.bytes += room(side.sizes[index]) + (varies() ? mix(draw + index) % 3 * 8 : 0);
    }
    return side;
  }

  Op op_;
  int ranks_;
};

[[nodiscard]] inline bool only_moves(Collective collective) {
  return collective >= Collective::gather && collective <= Collective::alltoallw;
}

// The parts of a Reduce_scatter.
inline std::vector<coll::Slice> parts_of(const Op& op, int ranks) {
  std::vector<coll::Slice> parts;
  const auto count = static_cast<std::size_t>(ranks);
  std::size_t begin = 0;
  for (std::size_t i = 0; i < count; ++i) {
    coll::Slice part = coll::slice_of(op.count, count, i, 1);
    if (op.seed % 3 == 0) {  // uneven, and some have nothing
      part = {begin, i + 1 == count ? op.count - begin : mix(op.seed + i) % (op.count - begin + 1)};
    }
    begin += part.count;
    parts.push_back(part);
  }
  return parts;
}

inline std::uint64_t operand_seed(const Op& op, int rank) {
  return op.seed + static_cast<std::uint64_t>(rank) * 0x100000001u;
}

// All ranks' operands combined in the order that docs/algorithms.md promises.
inline std::vector<std::byte> reduced(const Op& op, int ranks) {
  const Kind& kind = kinds[op.kind];
  std::vector<std::vector<std::byte>> sums;
  for (int q = 0; q < ranks; ++q) fill(kind, operand_seed(op, q), sums.emplace_back(op.bytes()));
  const auto meet = [&](std::size_t left) {  // with the one behind it
    auto* const sum = sums[left].data();
    kind.kernel.apply(sum, sum, sums[left + 1].data(), op.count, Stores::plain);
    sums.erase(sums.begin() + static_cast<std::ptrdiff_t>(left) + 1);
  };
  if (op.order == coll::Order::rank)
    while (sums.size() > 1) meet(0);
  for (std::size_t first = 0; !std::has_single_bit(sums.size()); ++first) meet(first);
  while (sums.size() > 1)
    for (std::size_t left = 0; left < sums.size(); ++left) meet(left);
  return sums[0];
}

// What computing collectives leave on each rank, or on all of them alike, as one rank alone would
// compute it.
inline std::vector<std::vector<std::byte>> expected_results(const Op& op, int ranks) {
  std::vector<std::byte> result(op.bytes()), next(op.bytes());
  const Collective collective = op.algorithm.collective;
  const Kind& kind = kinds[op.kind];
  if (collective == Collective::bcast) {
    fill(kind, operand_seed(op, op.root), result);
    return {result};
  }
  std::vector<std::vector<std::byte>> results;
  if (collective == Collective::scan || collective == Collective::exscan) {
    if (collective == Collective::exscan) results.emplace_back();
    fill(kind, operand_seed(op, 0), result);
    for (int q = 1; q <= ranks; ++q) {
      results.push_back(result);
      fill(kind, operand_seed(op, q), next);
      kind.kernel.apply(result.data(), result.data(), next.data(), op.count, Stores::plain);
    }
    return results;
  }
  result = reduced(op, ranks);
  if (!scatters_result(collective)) return {result};
  for (const coll::Slice& part : parts_of(op, ranks)) {
    const auto begin = result.begin() + static_cast<std::ptrdiff_t>(part.begin * kind.bytes);
    results.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(part.count * kind.bytes));
  }
  return results;
}

}  // namespace tutti::test
