// SPDX-License-Identifier: BSD-3-Clause
// The leaders sum up what they have, each with a partner a round: whole, in as few messages as can
// be, or in halves, which are twice as many messages of fewer bytes.
#pragma once

#include <bit>
#include <vector>

#include "coll/leaders/leaders.h"

namespace tutti::coll::leaders {

// The leaders whose number is a power of two. Where there are more nodes, the first ones meet in
// pairs, of which one takes part for both.
class Cube {
 public:
  // `place`: of the leaders among the members of their nodes.
  explicit Cube(const NodeMap& map, int place = 0)
      : map_(map),
        me_(map.node()),
        place_(static_cast<std::size_t>(place)),
        size_(static_cast<int>(std::bit_floor(static_cast<unsigned>(map.nodes())))),
        pairs_(map.nodes() - size_) {}

  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] int rounds() const { return std::countr_zero(static_cast<unsigned>(size_)); }
  [[nodiscard]] bool is_paired() const { return me_ < 2 * pairs_; }
  [[nodiscard]] bool stays_out() const { return stays_out(me_); }
  [[nodiscard]] bool stays_out(int node) const { return node < 2 * pairs_ && node % 2 == 1; }
  // Of a pair.
  [[nodiscard]] int other() const { return leader_of(me_ ^ 1); }
  // Among those that take part.
  [[nodiscard]] int place() const { return is_paired() ? me_ / 2 : me_ - pairs_; }
  [[nodiscard]] int leader(int place) const { return leader_of(first_node(place)); }
  // For whom a place takes part.
  [[nodiscard]] int first_node(int place) const {
    return place < pairs_ ? 2 * place : place + pairs_;
  }
  [[nodiscard]] int nodes_at(int place) const { return place < pairs_ ? 2 : 1; }

 private:
  [[nodiscard]] int leader_of(int node) const { return map_.members(node)[place_]; }

  const NodeMap& map_;
  int me_;
  std::size_t place_;
  int size_, pairs_;
};

// Recursive doubling: each meets another one for the whole vector.
template <Fabric F, Wire W>
Task double_up(Members<F, W>& all, const Cube& cube, const Work& work, std::byte* sum,
               std::byte* heard) {
  const int mine = cube.place();
  for (int distance = 1; distance < cube.size(); distance *= 2) {
    const int theirs = mine ^ distance;
    (void)all.wire.send(cube.leader(theirs), sum, work.bytes());
    co_await all.wire.done(all.wire.receive(cube.leader(theirs), heard, work.bytes()));
    const std::byte* const left = theirs < mine ? heard : sum;
    all.fold(work, sum, left, theirs < mine ? sum : heard, work.count, work.stores);
  }
}

// Each meets another one for half of what it has, and keeps that half, until it has one part of the
// sum. Then the parts go back the same way (Rabenseifner 2004). Operands meet as in double_up, so
// the bits are the same.
template <Fabric F, Wire W>
Task halve_and_double(Members<F, W>& all, const Cube& cube, const Work& work, std::byte* sum,
                      std::byte* heard) {
  const int mine = cube.place();
  const auto at = [&](Slice slice) { return sum + slice.begin * work.element_bytes; };
  const auto bytes = [&](Slice slice) { return slice.count * work.element_bytes; };
  const auto half = [](Slice whole, bool upper) { return cut(whole, 2, upper ? 1 : 0); };
  Slice whole{0, work.count};
  std::vector<Slice> wholes;
  for (int distance = 1; distance < cube.size(); distance *= 2) {
    const int theirs = mine ^ distance;
    const Slice kept = half(whole, theirs < mine), given = half(whole, theirs > mine);
    (void)all.wire.send(cube.leader(theirs), at(given), bytes(given));
    co_await all.wire.done(all.wire.receive(cube.leader(theirs), heard, bytes(kept)));
    const std::byte* const left = theirs < mine ? heard : at(kept);
    all.fold(work, at(kept), left, theirs < mine ? at(kept) : heard, kept.count, work.stores);
    wholes.push_back(whole);
    whole = kept;
  }
  for (int distance = cube.size() / 2; distance > 0; distance /= 2) {
    const int theirs = mine ^ distance;
    const Slice kept = whole, given = half(wholes.back(), theirs > mine);
    (void)all.wire.send(cube.leader(theirs), at(kept), bytes(kept));
    co_await all.wire.done(all.wire.receive(cube.leader(theirs), at(given), bytes(given)));
    whole = wholes.back();
    wholes.pop_back();
  }
}

// On leaders: `sum` becomes that of all leaders that have this one's place among the members of
// their nodes. `halves`: by halve_and_double.
template <Fabric F, Wire W>
Task sum_of_leaders(Members<F, W>& all, const Work& work, std::byte* sum, bool halves) {
  const Cube cube(all.map, all.map.place_of(all.map.rank()));
  const std::size_t bytes = work.bytes();
  const std::size_t most_heard =
      halves && !cube.is_paired() ? slice_of(work.count, 2, 0).count * work.element_bytes : bytes;
  std::byte* const heard = all.wire.scratch(most_heard);
  if (cube.stays_out()) {
    (void)all.wire.send(cube.other(), sum, bytes);
    co_await all.wire.done(all.wire.receive(cube.other(), heard, bytes));
    all.copy(sum, heard, bytes);
    co_return;
  }
  if (cube.is_paired()) {
    co_await all.wire.done(all.wire.receive(cube.other(), heard, bytes));
    all.fold(work, sum, sum, heard, work.count, work.stores);
  }
  if (halves)
    co_await halve_and_double(all, cube, work, sum, heard);
  else
    co_await double_up(all, cube, work, sum, heard);
  if (cube.is_paired()) co_await all.wire.done(all.wire.send(cube.other(), sum, bytes));
}

}  // namespace tutti::coll::leaders
