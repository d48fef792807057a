// SPDX-License-Identifier: BSD-3-Clause
// Alltoall of small blocks over nodes: what goes from one node to another is one message. For each
// node, the members here put their blocks where their leader sends them from, sorted by receiver;
// there each receiver takes its own. Between members of one node, blocks pass directly.
#pragma once

#include "coll/leaders/packed.h"

namespace tutti::coll::leaders {

// Of one rank, in a call with blocks of `bytes`.
template <Fabric F, Wire W>
class Exchange {
 public:
  Exchange(Members<F, W>& all, const Work& work)
      : all_(all),
        bytes_(work.bytes()),
        near_(static_cast<std::size_t>(all.fabric.size())),
        sent_(all.map, work.out),
        received_(all.map, work.in),
        // Blocks of one member for those of another node, each of which gets those of all members.
        strided_(layout::Typemap(bytes_).resized(0, static_cast<std::ptrdiff_t>(near_ * bytes_))) {
    std::byte* const straight_out = sent_.as_they_lie();
    std::byte* const straight_in = received_.as_they_lie();
    const std::size_t out = sent_.bytes(), in = received_.bytes();
    const std::size_t passing = all.leads() ? near_ : 0;
    std::byte* const memory = all.wire.scratch((1 + passing) * (out + in));
    out_ = straight_out != nullptr ? straight_out : memory;
    in_ = straight_in != nullptr ? straight_in : memory + out;
    outgoing_ = memory + out + in;
    incoming_ = outgoing_ + passing * out;
    packs_ = straight_out == nullptr;
    unpacks_ = straight_in == nullptr;
  }

  void pack() {
    for (int node = 0; packs_ && node < all_.map.nodes(); ++node) sent_.pack(node, out_);
  }
  void unpack() {
    for (int node = 0; unpacks_ && node < all_.map.nodes(); ++node)
      if (node != all_.map.node()) received_.unpack(node, in_);
  }

  // What this node sends to another, or gets from it, all members' blocks.
  Ticket send(int node) {
    return all_.wire.send(all_.map.leader(node), outgoing(node), near_ * sent_.bytes(node));
  }
  Ticket receive(int node) {
    return all_.wire.receive(all_.map.leader(node), incoming(node), near_ * received_.bytes(node));
  }

  // A stage: this node's members hand in what they send to `node`.
  Task hand_in(int node) {
    const Block mine{out_ + sent_.begin(node), sent_.bytes(node), nullptr};
    if (all_.alone_on_node()) {
      reduce::copy(outgoing(node), mine.address, mine.bytes);
      co_return;
    }
    std::vector<Block> places;
    for (std::size_t q = 0; all_.leads() && q < near_; ++q)
      places.push_back({outgoing(node) + q * bytes_, mine.bytes, &strided_});
    const Work work{.count = mine.bytes,
                    .root = all_.leading_place(),
                    .out = std::span(&mine, 1),
                    .in = places};
    co_await on_node(all_, Collective::gather, work);
  }

  // A stage: they take what they get from it.
  Task hand_out(int node) {
    const Block mine{in_ + received_.begin(node), received_.bytes(node), nullptr};
    if (all_.alone_on_node()) {
      reduce::copy(mine.address, incoming(node), mine.bytes);
      co_return;
    }
    std::vector<Block> places;
    for (std::size_t q = 0; all_.leads() && q < near_; ++q)
      places.push_back({incoming(node) + q * mine.bytes, mine.bytes, nullptr});
    const Work work{.count = mine.bytes,
                    .root = all_.leading_place(),
                    .out = places,
                    .in = std::span(&mine, 1)};
    co_await on_node(all_, Collective::scatter, work);
  }

  // A stage: what they send each other.
  Task exchange_on_node(const Work& work) {
    const std::vector<Block> out = sent_.blocks_of(all_.map.node());
    const std::vector<Block> in = received_.blocks_of(all_.map.node());
    if (all_.alone_on_node()) {
      if (!work.in_place) keep(all_, in[0], out[0]);
      co_return;
    }
    Work own = work;
    own.in = in;
    own.out = work.in_place ? std::span(in) : std::span(out);
    co_await on_node(all_, Collective::alltoall, own);
  }

 private:
  [[nodiscard]] std::byte* outgoing(int node) const {
    return outgoing_ + near_ * sent_.begin(node);
  }
  [[nodiscard]] std::byte* incoming(int node) const {
    return incoming_ + near_ * received_.begin(node);
  }

  Members<F, W>& all_;
  std::size_t bytes_, near_;
  Packed sent_, received_;
  layout::Layout strided_;
  std::byte *out_, *in_;  // this rank's blocks, node by node
  std::byte *outgoing_, *incoming_;
  bool packs_, unpacks_;
};

template <Fabric F, Wire W>
Task alltoall(Members<F, W>& all, const Work& work) {
  Exchange<F, W> exchange(all, work);
  const int me = all.map.node(), nodes = all.map.nodes();
  std::vector<Ticket> heard(static_cast<std::size_t>(nodes));
  if (all.leads())
    for (int back = 1; back < nodes; ++back)
      heard[static_cast<std::size_t>(back)] = exchange.receive((me + nodes - back) % nodes);
  exchange.pack();
  Ticket sent = 0;
  for (int step = 1; step < nodes; ++step) {
    const int node = (me + step) % nodes;
    co_await exchange.hand_in(node);
    if (all.leads()) sent = exchange.send(node);
  }
  co_await exchange.exchange_on_node(work);
  for (int back = 1; back < nodes; ++back) {
    if (all.leads()) co_await all.wire.done(heard[static_cast<std::size_t>(back)]);
    co_await exchange.hand_out((me + nodes - back) % nodes);
  }
  if (all.leads()) co_await all.wire.done(sent);
  exchange.unpack();
}

}  // namespace tutti::coll::leaders
