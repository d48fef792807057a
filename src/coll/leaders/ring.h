// SPDX-License-Identifier: BSD-3-Clause
// A ring of the nodes, in which each sums up one slice of a vector and then passes it round. While
// a slice is on its way, the node's members fold the next one, or get the last one. A node may have
// several leaders for that, each of which has a part of every slice: where one core folds or sends
// more slowly than the network takes it.
#pragma once

#include <numeric>

#include "coll/leaders/leaders.h"

namespace tutti::coll::leaders {

// Of one rank, in a call. Nodes have as many leaders each. In a round, elements [begin, begin +
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

}  // namespace tutti::coll::leaders
