// SPDX-License-Identifier: BSD-3-Clause
// Alltoall of small blocks over nodes: what goes from one node to another is one message. Members
// put their blocks where their leader sends them from, sorted by receiver. On the other node each
// receiver takes its own.
//
// A node with few bytes in all does that at once: one Gather, and when all messages have come one
// Scatter. Else its members hand in what goes to one node while what goes to the one before is on
// its way, and between members of the node blocks pass directly.
#pragma once

#include "coll/leaders/alltoallv.h"
#include "coll/leaders/forward.h"
#include "coll/leaders/packed.h"

namespace tutti::coll::leaders {

// Of one rank, in a call.
template <Fabric F, Wire W>
class PackedExchange {
 public:
  PackedExchange(Members<F, W>& all, const Work& work)
      : all_(all),
        work_(work),
        near_(static_cast<std::size_t>(all.fabric.size())),
        sent_(all.map, work.out),
        received_(all.map, work.in),
        // What a leader sends has a block of each member in turn.
        in_turn_(layout::Typemap(work.bytes())
                     .resized(0, static_cast<std::ptrdiff_t>(near_ * work.bytes()))) {
    std::byte* const straight_out = work.in_place ? nullptr : sent_.as_they_lie();
    std::byte* const straight_in = received_.as_they_lie();
    packs_ = straight_out == nullptr;
    unpacks_ = straight_in == nullptr;
    const std::size_t most = std::max(sent_.bytes(), received_.bytes());
    const std::size_t passing = all.leads() && near_ > 1 ? near_ * most : 0;
    forwards_ = Forwarding<F, W>::is_worth_it(all.map, work.bytes(), all.way.forwarded_bytes);
    const std::size_t forwarded =
        forwards_ && all.leads() ? Forwarding<F, W>::memory_bytes(all.map, work.bytes()) : 0;
    std::byte* const memory = all.wire.scratch(2 * most + 2 * passing + forwarded);
    out_ = packs_ ? memory : straight_out;
    in_ = unpacks_ ? memory + most : straight_in;
    outgoing_ = near_ > 1 ? memory + 2 * most : out_;
    incoming_ = near_ > 1 ? outgoing_ + passing : in_;
    forwarded_ = memory + 2 * most + 2 * passing;
  }

  Task run() {
    const int me = all_.map.node(), nodes = all_.map.nodes();
    if (packs_)
      for (int node = 0; node < nodes; ++node) all_.fabric.spend(sent_.pack(node, out_));
    if (forwards_ || near_ == 1 || near_ * sent_.bytes() <= limits::sorted_alltoall_bytes)
      co_await run_at_once();
    else
      co_await run_by_node();
    for (int node = 0; unpacks_ && node < nodes; ++node)
      if (node != me || !passed_) all_.fabric.spend(received_.unpack(node, in_));
  }

 private:
  [[nodiscard]] int node_at(int distance) const {
    return (all_.map.node() + distance + all_.map.nodes()) % all_.map.nodes();
  }
  // What this node sends to another, or gets from it, all members' blocks.
  [[nodiscard]] std::byte* outgoing(int node) const {
    return outgoing_ + near_ * sent_.begin(node);
  }
  [[nodiscard]] std::byte* incoming(int node) const {
    return incoming_ + near_ * received_.begin(node);
  }
  Ticket send(int node) {
    return all_.wire.send(all_.map.leader(node), outgoing(node), near_ * sent_.bytes(node));
  }
  Ticket receive(int node) {
    return all_.wire.receive(all_.map.leader(node), incoming(node), near_ * received_.bytes(node));
  }

  Task run_at_once() {
    const int me = all_.map.node(), nodes = all_.map.nodes();
    co_await hand_in({out_, sent_.bytes(), nullptr}, outgoing_);
    if (all_.leads()) {
      Ticket last = 0;
      for (int distance = 1; distance < nodes && !forwards_; ++distance) {
        (void)send(node_at(distance));
        last = receive(node_at(-distance));
      }
      const std::size_t own = near_ * std::min(sent_.bytes(me), received_.bytes(me));
      if (own > 0) all_.copy(incoming(me), outgoing(me), own);
      if (forwards_) co_await forward();
      co_await all_.wire.done(last);
      if (near_ > 1) sort();
    }
    co_await hand_out({in_, received_.bytes(), nullptr}, outgoing_);
  }

  Task forward() {
    Forwarding<F, W> forwarding(all_, work_.bytes());
    co_await forwarding.run(
        forwarded_, [&](int node) { return outgoing(node); },
        [&](int node) { return incoming(node); });
  }

  // From node by node to receiver by receiver, where all was sent from.
  void sort() {
    for (int node = 0; node < all_.map.nodes(); ++node)
      for (std::size_t q = 0; q < near_; ++q)
        all_.copy(outgoing_ + q * received_.bytes() + received_.begin(node),
                  incoming(node) + q * received_.bytes(node), received_.bytes(node));
  }

  Task run_by_node() {
    const int nodes = all_.map.nodes();
    std::vector<Ticket> heard(static_cast<std::size_t>(nodes));
    for (int distance = 1; all_.leads() && distance < nodes; ++distance)
      heard[static_cast<std::size_t>(distance)] = receive(node_at(-distance));
    Ticket sent = 0;
    for (int distance = 1; distance < nodes; ++distance) {
      const int node = node_at(distance);
      co_await hand_in({out_ + sent_.begin(node), sent_.bytes(node), nullptr}, outgoing(node));
      if (all_.leads()) sent = send(node);
    }
    co_await pass();
    for (int distance = 1; distance < nodes; ++distance) {
      const int node = node_at(-distance);
      if (all_.leads()) co_await all_.wire.done(heard[static_cast<std::size_t>(distance)]);
      co_await hand_out({in_ + received_.begin(node), received_.bytes(node), nullptr},
                        incoming(node));
    }
    if (all_.leads()) co_await all_.wire.done(sent);
  }

  // The stages. This node's members hand in `mine`, which comes to `place`, in turn.
  Task hand_in(Block mine, std::byte* place) {
    if (near_ == 1) co_return;
    std::vector<Block> places;
    for (std::size_t q = 0; all_.leads() && q < near_; ++q)
      places.push_back({place + q * work_.bytes(), mine.bytes, &in_turn_});
    const Work work{.count = mine.bytes,
                    .root = all_.leading_place(),
                    .out = std::span(&mine, 1),
                    .in = places};
    co_await on_node(all_, Collective::gather, work);
  }
  // They get `mine`, which comes from `place`, one behind the other.
  Task hand_out(Block mine, std::byte* place) {
    if (near_ == 1) co_return;
    std::vector<Block> places;
    if (all_.leads()) places = equal_places(place, mine.bytes, near_);
    const Work work{.count = mine.bytes,
                    .root = all_.leading_place(),
                    .out = places,
                    .in = std::span(&mine, 1)};
    co_await on_node(all_, Collective::scatter, work);
  }
  // What they send each other.
  Task pass() {
    const std::vector<Block> out = sent_.blocks_of(all_.map.node());
    const std::vector<Block> in = received_.blocks_of(all_.map.node());
    Work own = work_;
    own.in = in;
    own.out = work_.in_place ? std::span(in) : std::span(out);
    passed_ = true;
    co_await on_node(all_, Collective::alltoall, own);
  }

  Members<F, W>& all_;
  const Work& work_;
  std::size_t near_;  // members of this node
  Packed sent_, received_;
  layout::Layout in_turn_;
  std::byte *out_, *in_;  // this rank's blocks, node by node
  std::byte *outgoing_, *incoming_;
  std::byte* forwarded_;  // for messages of others
  bool packs_, unpacks_;
  bool forwards_;        // other nodes pass on what goes from one to another
  bool passed_ = false;  // the blocks between members of this node, directly
};

// Whether what goes from one node to another is one message; all members know that alike.
inline bool is_worth_packing(const NodeMap& map, const Work& work, std::size_t most) {
  const auto near = static_cast<std::size_t>(map.largest());
  const auto ranks = static_cast<std::size_t>(map.size());
  return work.bytes() <= most && 2 * (near + 1) * ranks * work.bytes() <= limits::most_packed_bytes;
}

template <Fabric F, Wire W>
Task alltoall(Members<F, W>& all, const Work& work) {
  if (has_no_room(all, work.out[0], work.in[0])) co_return;
  if (!is_worth_packing(all.map, work, all.way.packed_bytes)) {
    co_await alltoallv<F, W, Collective::alltoall>(all, work);
    co_return;
  }
  PackedExchange<F, W> exchange(all, work);
  co_await exchange.run();
}

}  // namespace tutti::coll::leaders
