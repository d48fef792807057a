// SPDX-License-Identifier: BSD-3-Clause
// A ring of the nodes, in which each sums up one slice of a vector and then passes it round. While
// a slice is on its way, the node's members fold the next one, or get the last one. A node may have
// several leaders for that, each of which has a part of every slice: where one core folds or sends
// more slowly than the network takes it.
#pragma once

#include "coll/leaders/slices.h"

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
        slices_(all.map, all.way, work),
        round_(slices_.round(0)),
        leaders_(leaders_of(all.map, all.way, bytes(slices_.slice(round_, 0)), all.way.part_bytes)),
        leads_(place_ < leaders_) {}

  Task run() {
    if (leads_) heard_ = all_.wire.scratch(bytes(part(slices_.slice(round_, 0), 0)));
    while (round_.count > 0) {
      co_await sum_up();
      co_await hand_round();
      round_ = slices_.round(round_.begin + round_.count);
    }
  }

 private:
  // The slice that is `back` nodes before this one's.
  [[nodiscard]] Slice slice(int back) const {
    return slices_.slice(round_, (me_ + 2 * nodes_ - back) % nodes_);
  }
  [[nodiscard]] Slice part(Slice slice, int leader) const {
    return slices_.cut(slice, static_cast<std::size_t>(leaders_), static_cast<std::size_t>(leader));
  }
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
  int place_;  // among the members of this node
  Slices slices_;
  Slice round_;
  int leaders_;  // of each node
  bool leads_;
  std::byte* heard_ = nullptr;  // room for the longest part
  Slice mine_;                  // what this node passes on next
};

}  // namespace tutti::coll::leaders
