// SPDX-License-Identifier: BSD-3-Clause
// Reduce_scatter over nodes by ranges of the vector: each node reduces a range at once, whosever
// its elements are. Then each leader meets another one for half of what it has, and keeps that
// half, until it has what is for its node (recursive halving; Thakur, Rabenseifner and Gropp 2005).
// Or it sends each other one what is for that node, where that takes less. Operands meet in the
// same order in both.
#pragma once

#include <numeric>

#include "coll/leaders/cube.h"
#include "coll/leaders/packed.h"
#include "coll/leaders/scattered.h"

namespace tutti::coll::leaders {

// A range, in elements.
[[nodiscard]] inline std::size_t most_in_range(const NodeMap& map, const Work& work) {
  const auto nodes = static_cast<std::size_t>(map.nodes());
  const std::size_t most =
      std::min(limits::wire_piece_bytes, limits::most_packed_bytes / (nodes + 1));
  return std::max<std::size_t>(1, most / work.element_bytes);
}

// Whether leaders halve a range of so many bytes, which takes fewer messages, of which each waits
// for the one before. Else each sends one to each other one, all at once.
[[nodiscard]] inline bool halving_pays(const NodeMap& map, const Way& way, std::size_t bytes) {
  const Cube cube(map);
  const auto nodes = static_cast<std::size_t>(map.nodes());
  const auto size = static_cast<std::size_t>(cube.size());
  const auto starts = [&](double messages, std::size_t sent) {
    return messages + static_cast<double>(sent) / static_cast<double>(way.start_bytes);
  };
  const double in_pairs = size < nodes ? starts(2 * way.round_starts, bytes + bytes / nodes) : 0;
  return nodes > 1 &&
         in_pairs + starts(cube.rounds() * way.round_starts, bytes - bytes / size) <
             starts(way.round_starts + static_cast<double>(nodes) - 2, bytes - bytes / nodes);
}

template <Fabric F, Wire W>
class SumsByRange : ScatteredSums<F, W> {
 public:
  SumsByRange(Members<F, W>& all, const Work& work, bool halves)
      : ScatteredSums<F, W>(all, work), cube_(all.map), halves_(halves) {}

  Task run() {
    const auto nodes = static_cast<std::size_t>(nodes_);
    const std::size_t most = most_in_range(all_.map, work_);
    const auto range = [&](std::size_t begin) {
      return Slice{begin, std::min(most, work_.count - begin)};
    };
    const std::size_t longest_range = bytes_of(range(0).count);
    std::size_t longest = 0;
    for (std::size_t begin = 0; begin < work_.count; begin += most)
      longest = std::max(longest, count_of(me_, range(begin)));
    if (all_.leads()) {
      const std::size_t sums = round_up(longest_range, 64);
      place_bytes_ = round_up(bytes_of(longest), 64);
      order_ = halves_ ? in_halves() : in_turn();
      sums_ = all_.wire.scratch(2 * sums + (halves_ ? sums : nodes * place_bytes_));
      sorted_ = all_.map.in_order() && !halves_ ? sums_ : sums_ + sums;
      places_ = sums_ + 2 * sums;
    }
    for (std::size_t begin = 0; begin < work_.count; begin += most) co_await meet(range(begin));
  }

 private:
  using Sums = ScatteredSums<F, W>;
  using Sums::all_, Sums::work_, Sums::me_, Sums::nodes_;
  using Sums::node_at, Sums::part_of, Sums::bytes_of, Sums::count_of, Sums::hand_out;

  // The nodes as what is for them lies in memory.
  [[nodiscard]] std::vector<int> in_turn() const {
    std::vector<int> order(static_cast<std::size_t>(nodes_));
    std::iota(order.begin(), order.end(), 0);
    return order;
  }
  // Nodes near each other meet first, so that operands meet in their order. So halves are those of
  // the lowest bit first.
  [[nodiscard]] std::vector<int> in_halves() const {
    std::vector<int> order;
    for (int position = 0; position < cube_.size(); ++position) {
      int place = 0;
      for (int bit = 1; bit < cube_.size(); bit *= 2)
        place = 2 * place + ((position & bit) != 0 ? 1 : 0);
      for (int each = 0; each < cube_.nodes_at(place); ++each)
        order.push_back(cube_.first_node(place) + each);
    }
    return order;
  }

  Task meet(Slice range) {
    co_await reduce_on_node(all_, work_, range, sums_);
    const std::size_t mine = count_of(me_, range);
    std::byte* sum = nullptr;
    if (all_.leads()) {
      if (sorted_ != sums_) sort(range);
      if (halves_)
        co_await halve(range, mine, sum);
      else
        co_await hear_all(range, mine, sum);
    }
    if (mine > 0) co_await hand_out(range, sum, all_.map.leader(me_));
  }

  // On leaders. `sum`: where that of `mine` elements is then.
  Task hear_all(Slice range, std::size_t mine, std::byte*& sum) {
    Ticket last = 0;
    for (int distance = 1; distance < nodes_ && mine > 0; ++distance) {
      const int node = node_at(-distance);
      last = all_.wire.receive(all_.map.leader(node), place(node), bytes_of(mine));
    }
    std::byte* next = sorted_;
    for (const int node : order_) {
      const std::size_t bytes = bytes_of(count_of(node, range));
      if (node == me_)
        sum = next;
      else if (bytes > 0)
        last = all_.wire.send(all_.map.leader(node), next, bytes);
      next += bytes;
    }
    co_await all_.wire.done(last);
    if (mine > 0) sum = fold(sum, mine);
  }

  // On leaders, the same by recursive halving.
  Task halve(Slice range, std::size_t mine, std::byte*& sum) {
    std::byte* const heard = places_;
    const std::size_t all_bytes = bytes_of(range.count);
    Ticket last = 0;
    if (cube_.stays_out()) {
      sum = heard;
      last = all_.wire.send(cube_.other(), sorted_, all_bytes);
      if (mine > 0) last = all_.wire.receive(cube_.other(), sum, bytes_of(mine));
      co_return co_await all_.wire.done(last);
    }
    if (cube_.is_paired()) {
      co_await all_.wire.done(all_.wire.receive(cube_.other(), heard, all_bytes));
      all_.fold(work_, sorted_, sorted_, heard, range.count, work_.stores);
    }
    const std::vector<std::size_t> begins = begins_of_places(range);
    const int here = cube_.place();
    std::size_t low = 0, high = begins.size() - 1;  // what is kept
    for (int distance = 1; distance < cube_.size(); distance *= 2) {
      const int there = here ^ distance;
      const std::size_t middle = (low + high) / 2;
      const std::size_t given = there > here ? middle : low;
      (there > here ? high : low) = middle;
      const std::size_t kept_count = begins[high] - begins[low];
      const std::size_t given_count = begins[given + high - low] - begins[given];
      std::byte* const kept = sorted_ + bytes_of(begins[low]);
      if (given_count > 0)
        last = all_.wire.send(cube_.leader(there), sorted_ + bytes_of(begins[given]),
                              bytes_of(given_count));
      if (kept_count > 0)
        last = all_.wire.receive(cube_.leader(there), heard, bytes_of(kept_count));
      co_await all_.wire.done(last);
      if (kept_count > 0)
        all_.fold(work_, kept, there < here ? heard : kept, there < here ? kept : heard, kept_count,
                  work_.stores);
    }
    sum = sorted_ + bytes_of(begins[low]);
    const std::size_t others = begins[high] - begins[low] - mine;
    if (others > 0)
      co_await all_.wire.done(
          all_.wire.send(cube_.other(), sum + bytes_of(mine), bytes_of(others)));
  }

  // Where what is for the nodes of each place begins, in elements, and where the last one ends.
  [[nodiscard]] std::vector<std::size_t> begins_of_places(const Slice& range) const {
    std::vector<std::size_t> begins;
    std::size_t begin = 0;
    for (const int node : order_) {
      if (!cube_.stays_out(node)) begins.push_back(begin);
      begin += count_of(node, range);
    }
    begins.push_back(begin);
    return begins;
  }

  [[nodiscard]] std::byte* place(int index) const {
    return places_ + static_cast<std::size_t>(index) * place_bytes_;
  }

  // Node by node.
  void sort(const Slice& range) {
    std::byte* next = sorted_;
    for (const int node : order_)
      for (const int rank : all_.map.members(node)) {
        const Slice slice = overlap(part_of(rank), range);
        if (slice.count == 0) continue;
        all_.copy(next, sums_ + bytes_of(slice.begin - range.begin), bytes_of(slice.count));
        next += bytes_of(slice.count);
      }
  }

  // As they meet in halve(), so that the bits are the same; returns where the sum is.
  std::byte* fold(std::byte* own, std::size_t count) {
    const auto of = [&](int node) { return node == me_ ? own : place(node); };
    const auto meet = [&](int left, int right) {
      all_.fold(work_, of(left), of(left), of(right), count, work_.stores);
    };
    for (int place = 0; place < cube_.size(); ++place)
      if (cube_.nodes_at(place) == 2) meet(cube_.first_node(place), cube_.first_node(place) + 1);
    for (int distance = 1; distance < cube_.size(); distance *= 2)
      for (int place = 0; place + distance < cube_.size(); place += 2 * distance)
        meet(cube_.first_node(place), cube_.first_node(place + distance));
    return of(0);
  }

  Cube cube_;
  bool halves_;                  // else each sends each other one what is for it
  std::vector<int> order_;       // of the nodes in `sorted_`
  std::byte* sums_ = nullptr;    // of a range, as the vector has them
  std::byte* sorted_ = nullptr;  // the same, node by node
  std::byte* places_ = nullptr;
  std::size_t place_bytes_ = 0;
};

}  // namespace tutti::coll::leaders
