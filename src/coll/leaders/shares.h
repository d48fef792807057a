// SPDX-License-Identifier: BSD-3-Clause
// Each leader sums up a share of a vector: it hears from all others at once what they have of that,
// and then sends all of them the sum. A ring (ring.h) has as many messages, in 2 (N - 1) steps, and
// here there are two steps. Operands meet in the same order. But nothing is done on the nodes
// meanwhile.
#pragma once

#include "coll/leaders/slices.h"

namespace tutti::coll::leaders {

// Of one leader. The vector's part `mine` is that of the leaders that have this one's place among
// the members of their nodes; all of them have a share of it.
template <Fabric F, Wire W>
class Shares {
 public:
  Shares(Members<F, W>& all, const Work& work, Slice mine)
      : all_(all),
        work_(work),
        slices_(all.map, all.way, work),
        mine_(mine),
        me_(all.map.node()),
        nodes_(all.map.nodes()),
        place_(static_cast<std::size_t>(all.map.place_of(all.map.rank()))),
        heard_bytes_(round_up(bytes(share(me_)), 64)) {}

  // The part of the result, where the operands of this node are.
  Task run() {
    const Slice own = share(me_);
    Ticket last = 0;
    heard_ = all_.wire.scratch(static_cast<std::size_t>(nodes_ - 1) * heard_bytes_);
    for (int distance = 1; distance < nodes_; ++distance)
      last = all_.wire.receive(leader(node_at(-distance)), heard(node_at(-distance)), bytes(own));
    for (int distance = 1; distance < nodes_; ++distance)
      last = send(node_at(distance), share(node_at(distance)));
    co_await all_.wire.done(last);
    sum_up(own);
    for (int distance = 1; distance < nodes_; ++distance) {
      const Slice theirs = share(node_at(-distance));
      last = all_.wire.receive(leader(node_at(-distance)), at(theirs), bytes(theirs));
    }
    for (int distance = 1; distance < nodes_; ++distance) last = send(node_at(distance), own);
    co_await all_.wire.done(last);
  }

 private:
  [[nodiscard]] int node_at(int distance) const { return (me_ + distance + nodes_) % nodes_; }
  [[nodiscard]] int leader(int node) const { return all_.map.members(node)[place_]; }
  [[nodiscard]] Slice share(int node) const {
    constexpr std::size_t grain = 8;  // elements
    return cut(mine_, static_cast<std::size_t>(nodes_), static_cast<std::size_t>(node), grain);
  }
  [[nodiscard]] std::size_t bytes(Slice where) const { return where.count * work_.element_bytes; }
  [[nodiscard]] std::byte* at(Slice where) const {
    return static_cast<std::byte*>(work_.recv) + where.begin * work_.element_bytes;
  }
  [[nodiscard]] std::byte* heard(int node) const {
    return heard_ + static_cast<std::size_t>(node < me_ ? node : node - 1) * heard_bytes_;
  }
  Ticket send(int node, Slice what) { return all_.wire.send(leader(node), at(what), bytes(what)); }

  // Slice by slice, as each has an order of its own.
  void sum_up(Slice own) {
    for (Slice round = slices_.round(0); round.count > 0;
         round = slices_.round(round.begin + round.count))
      for (int node = 0; node < nodes_; ++node)
        if (const Slice part = overlap(slices_.slice(round, node), own); part.count > 0)
          sum_up(own, part, node);
  }
  void sum_up(Slice own, Slice part, int first) {
    const std::size_t offset = (part.begin - own.begin) * work_.element_bytes;
    const auto operand = [&](int node) { return node == me_ ? at(part) : heard(node) + offset; };
    std::byte* const sum = operand(first);
    for (int distance = 1; distance < nodes_; ++distance) {
      std::byte* const to = distance + 1 < nodes_ ? sum : at(part);
      all_.fold(work_, to, sum, operand((first + distance) % nodes_), part.count, work_.stores);
    }
  }

  Members<F, W>& all_;
  const Work& work_;
  Slices slices_;
  Slice mine_;
  int me_, nodes_;
  std::size_t place_;  // among the members of this node
  std::size_t heard_bytes_;
  std::byte* heard_ = nullptr;
};

}  // namespace tutti::coll::leaders
