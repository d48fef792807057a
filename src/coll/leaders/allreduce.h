// SPDX-License-Identifier: BSD-3-Clause
// Allreduce over nodes. Small: each node's Reduce, an exchange of the leaders, whole or in halves,
// each node's Bcast. Large: a ring of the nodes, in which each sums up one slice and then passes it
// round. While a slice is on its way, the node's members fold the next one, or get the last one. A
// node may have several leaders for that, each of which has a part of every slice: where one core
// folds or sends more slowly than the network takes it.
#pragma once

#include <bit>
#include <numeric>
#include <vector>

#include "coll/leaders/leaders.h"

namespace tutti::coll::leaders {

// The leaders whose number is a power of two. Where there are more nodes, the first ones meet in
// pairs, of which one takes part for both.
class Cube {
 public:
  explicit Cube(const NodeMap& map)
      : map_(map),
        me_(map.node()),
        size_(static_cast<int>(std::bit_floor(static_cast<unsigned>(map.nodes())))),
        pairs_(map.nodes() - size_) {}

  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] int rounds() const { return std::countr_zero(static_cast<unsigned>(size_)); }
  [[nodiscard]] bool is_paired() const { return me_ < 2 * pairs_; }
  [[nodiscard]] bool stays_out() const { return is_paired() && me_ % 2 == 1; }
  // Of a pair.
  [[nodiscard]] int other() const { return map_.leader(me_ ^ 1); }
  // Among those that take part.
  [[nodiscard]] int place() const { return is_paired() ? me_ / 2 : me_ - pairs_; }
  [[nodiscard]] int leader(int place) const {
    return map_.leader(place < pairs_ ? 2 * place : place + pairs_);
  }

 private:
  const NodeMap& map_;
  int me_, size_, pairs_;
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
  const auto half = [](Slice whole, bool upper) {
    const Slice inner = slice_of(whole.count, 2, upper ? 1 : 0);
    return Slice{whole.begin + inner.begin, inner.count};
  };
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

// On leaders: `sum` becomes that of all leaders.
template <Fabric F, Wire W>
Task sum_of_leaders(Members<F, W>& all, const Work& work, std::byte* sum) {
  const Cube cube(all.map);
  const std::size_t bytes = work.bytes();
  const bool halves = static_cast<std::size_t>(cube.rounds()) * bytes > all.way.doubled_bytes;
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

template <Fabric F, Wire W>
Task small_allreduce(Members<F, W>& all, const Work& work) {
  auto* const sum = static_cast<std::byte*>(work.recv);
  co_await reduce_on_node(all, work, {0, work.count}, sum);
  if (all.leads()) co_await sum_of_leaders(all, work, sum);
  co_await bcast_on_node(all, sum, work.bytes());
}

// A large one, of one rank. Nodes have as many leaders each. In a round, elements [begin, begin +
// count) of the vector go round the nodes, a slice a node, and of each slice every leader has a
// part.
template <Fabric F, Wire W>
class Ring {
 public:
  Ring(Members<F, W>& all, const Work& work)
      : all_(all),
        work_(work),
        me_(all.map.node()),
        nodes_(all.map.nodes()),
        place_(all.map.place_of(all.map.rank())),
        longest_(std::max(least_grain, all.way.slice_bytes / work.element_bytes)),
        grain_(grain()),
        most_(static_cast<std::size_t>(nodes_) * (longest_ / grain_ * grain_)),
        round_{0, std::min(most_, work.count)},
        leaders_(count(bytes(slice(me_)))),
        leads_(place_ < leaders_) {}

  Task run() {
    if (leads_) heard_ = all_.wire.scratch(bytes(part(slice(me_), 0)));
    while (round_.count > 0) {
      co_await sum_up();
      co_await hand_round();
      const std::size_t begin = round_.begin + round_.count;
      round_ = {begin, std::min(most_, work_.count - begin)};
    }
  }

 private:
  static constexpr std::size_t least_grain = 64;

  [[nodiscard]] std::size_t grain() const {
    constexpr std::size_t many = 16;
    const std::size_t wanted = all_.way.grain_bytes;
    const std::size_t elements = wanted / std::gcd(wanted, work_.element_bytes);
    const std::size_t slice = std::min(longest_, work_.count / static_cast<std::size_t>(nodes_));
    return slice >= many * elements ? elements : least_grain;
  }
  // Smaller parts are not worth a stage each.
  [[nodiscard]] int count(std::size_t slice_bytes) const {
    const std::size_t most = std::max<std::size_t>(1, slice_bytes / all_.way.part_bytes);
    const int leaders = std::min(all_.way.leaders, all_.map.smallest());
    return static_cast<int>(std::min(static_cast<std::size_t>(leaders), most));
  }
  [[nodiscard]] Slice cut(Slice whole, int count, int index) const {
    const Slice inner = slice_of(whole.count, static_cast<std::size_t>(count),
                                 static_cast<std::size_t>(index), grain_);
    return {whole.begin + inner.begin, inner.count};
  }
  // The slice that is `back` nodes before this one's.
  [[nodiscard]] Slice slice(int back) const {
    return cut(round_, nodes_, (me_ + 2 * nodes_ - back) % nodes_);
  }
  [[nodiscard]] Slice part(Slice slice, int leader) const { return cut(slice, leaders_, leader); }
  [[nodiscard]] std::byte* at(Slice where) const {
    return static_cast<std::byte*>(work_.recv) + where.begin * work_.element_bytes;
  }
  [[nodiscard]] std::size_t bytes(Slice where) const { return where.count * work_.element_bytes; }
  // This leader's partner on the next node, or (-1) on the one before.
  [[nodiscard]] int partner(int distance) const {
    return all_.map.members((me_ + nodes_ + distance) % nodes_)[static_cast<std::size_t>(place_)];
  }

  // Stages: each leader gets the sum of its part of the slice from the node's members, or they get
  // its part.
  Task fold_on_node(Slice slice) {
    for (int leader = 0; leader < leaders_; ++leader) {
      const Slice own = part(slice, leader);
      if (own.count > 0) co_await reduce_on_node(all_, work_, own, at(own), rank_of(leader));
    }
  }
  Task spread_on_node(Slice slice) {
    for (int leader = 0; leader < leaders_; ++leader) {
      const Slice own = part(slice, leader);
      co_await bcast_on_node(all_, at(own), bytes(own), rank_of(leader));
    }
  }
  [[nodiscard]] int rank_of(int leader) const {
    return all_.map.members(me_)[static_cast<std::size_t>(leader)];
  }

  // While a part is on its way, the node's members fold the next one.
  Task sum_up() {
    mine_ = slice(0);
    co_await fold_on_node(mine_);
    for (int step = 1; step < nodes_; ++step) {
      const Slice behind = slice(step), here = part(behind, place_);
      const Ticket ticket = leads_ ? pass(here, heard_) : 0;
      co_await fold_on_node(behind);
      if (leads_) {
        co_await all_.wire.done(ticket);
        all_.fold(work_, at(here), heard_, at(here), here.count, work_.stores);
      }
      mine_ = behind;
    }
  }
  // `mine_` is whole now. The others come round, while the members get the last one.
  Task hand_round() {
    for (int step = 0; step < nodes_; ++step) {
      const Slice behind = slice(step);
      Ticket ticket = 0;
      if (leads_ && step + 1 < nodes_)
        ticket = pass(part(behind, place_), at(part(behind, place_)));
      co_await spread_on_node(mine_);
      if (leads_) co_await all_.wire.done(ticket);
      mine_ = behind;
    }
  }
  // Sends this leader's part of `mine_`, and receives its part of the slice behind.
  Ticket pass(Slice behind, std::byte* to) {
    const Slice own = part(mine_, place_);
    (void)all_.wire.send(partner(1), at(own), bytes(own));
    return all_.wire.receive(partner(-1), to, bytes(behind));
  }

  Members<F, W>& all_;
  const Work& work_;
  int me_, nodes_;
  int place_;            // among the members of this node
  std::size_t longest_;  // slice, in elements
  std::size_t grain_;    // elements
  std::size_t most_;     // elements of a round
  Slice round_;
  int leaders_;  // of each node
  bool leads_;
  std::byte* heard_ = nullptr;  // room for the longest part
  Slice mine_;                  // what this node passes on next
};

template <Fabric F, Wire W>
Task large_allreduce(Members<F, W>& all, const Work& work) {
  Ring<F, W> ring(all, work);
  co_await ring.run();
}

// Only a small one may need a leader's memory for as much as the vector.
inline bool goes_along_ring(const NodeMap& map, const Way& way, std::size_t bytes) {
  const auto nodes = static_cast<std::size_t>(map.nodes());
  const std::size_t most = std::has_single_bit(nodes) ? way.halved_bytes : way.paired_bytes;
  return bytes / nodes > most || bytes > limits::most_halved_bytes;
}

template <Fabric F, Wire W>
Task allreduce(Members<F, W>& all, const Work& work) {
  return goes_along_ring(all.map, all.way, work.bytes()) ? large_allreduce(all, work)
                                                         : small_allreduce(all, work);
}

}  // namespace tutti::coll::leaders
