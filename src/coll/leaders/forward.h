// SPDX-License-Identifier: BSD-3-Clause
// Messages between all nodes, of few bytes each, that other nodes pass on (Bruck et al. 1997): in
// ceil(log2 nodes) rounds each leader sends one message, with all that has that far to go. A
// message of d nodes' distance takes a round for each bit of d, the lowest first.
#pragma once

#include <bit>
#include <vector>

#include "coll/leaders/leaders.h"

namespace tutti::coll::leaders {

// Of a leader, in a call.
template <Fabric F, Wire W>
class Forwarding {
 public:
  // A message between two nodes has `bytes` for each two of their members.
  Forwarding(Members<F, W>& all, std::size_t bytes)
      : all_(all), bytes_(bytes), me_(all.map.node()), nodes_(all.map.nodes()) {}

  static bool pays(const NodeMap& map, const Way& way, std::size_t bytes) {
    const auto members = static_cast<std::size_t>(map.largest());
    return static_cast<std::size_t>(map.nodes()) > way.nodes_a_round * rounds(map.nodes()) &&
           members * members * bytes <= way.forwarded_bytes;
  }

  static std::size_t memory_bytes(const NodeMap& map, std::size_t bytes) {
    const auto most = static_cast<std::size_t>(map.largest());
    return (rounds(map.nodes()) + 1) * round_up(half(map.nodes()) * most * most * bytes, 64);
  }

  // `from(node)` and `to(node)` say where a node's message is, or comes to; not for this node.
  template <class From, class To>
  Task run(std::byte* memory, From from, To to) {
    const std::size_t room = memory_bytes(all_.map, bytes_) / (rounds(nodes_) + 1);
    std::vector<const std::byte*> held(static_cast<std::size_t>(nodes_));  // by distance
    for (int distance = 1; distance < nodes_; ++distance)
      held[static_cast<std::size_t>(distance)] = from(node_at(distance));
    std::byte* arrived = memory;
    for (int step = 1; step < nodes_; step *= 2) {
      arrived += room;
      std::size_t sent = 0, heard = 0;
      for (int distance = step; distance < nodes_; ++distance) {
        if ((distance & step) == 0) continue;
        const std::byte*& message = held[static_cast<std::size_t>(distance)];
        const std::size_t bytes = length(me_, distance, step);
        all_.copy(memory + sent, message, bytes);
        sent += bytes;
        message = arrived + heard;
        heard += length(node_at(-step), distance, step);
      }
      (void)all_.wire.send(all_.map.leader(node_at(step)), memory, sent);
      co_await all_.wire.done(all_.wire.receive(all_.map.leader(node_at(-step)), arrived, heard));
    }
    for (int distance = 1; distance < nodes_; ++distance)
      all_.copy(to(node_at(-distance)), held[static_cast<std::size_t>(distance)],
                between(node_at(-distance), me_));
  }

 private:
  static std::size_t rounds(int nodes) { return std::bit_width(static_cast<unsigned>(nodes - 1)); }
  static std::size_t half(int nodes) { return static_cast<std::size_t>(nodes + 1) / 2; }
  [[nodiscard]] int node_at(int distance) const { return (me_ + distance + nodes_) % nodes_; }
  [[nodiscard]] std::size_t between(int from, int to) const {
    return all_.map.members(from).size() * all_.map.members(to).size() * bytes_;
  }
  // Of the message of that distance that a node passes on in the round of `step`: it has come from
  // as far as the lower bits say.
  [[nodiscard]] std::size_t length(int node, int distance, int step) const {
    const int first = (node - distance % step + nodes_) % nodes_;
    return between(first, (first + distance) % nodes_);
  }

  Members<F, W>& all_;
  std::size_t bytes_;
  int me_, nodes_;
};

}  // namespace tutti::coll::leaders
