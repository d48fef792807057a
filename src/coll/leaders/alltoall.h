// SPDX-License-Identifier: BSD-3-Clause
// Alltoall of small blocks over nodes: what goes from one node to another is one message. Members
// put their blocks where their leader sends them from, sorted by receiver. On the other node each
// receiver takes its own.
//
// A node with few bytes in all does that by a Gather and a Scatter, as one whose members cannot
// reach their leader's memory does. Else they write and read that memory themselves, all at once,
// and put in what goes to one node while what goes to the one before is on its way. Between members
// of the node blocks pass directly then, if all take more than one turn.
#pragma once

#include "coll/leaders/alltoallv.h"
#include "coll/leaders/forward.h"
#include "coll/leaders/packed.h"

namespace tutti::coll::leaders {

// Of one rank, in a call.
template <Fabric F, Wire W>
class PackedExchange {
 public:
  // `forwards`: other nodes pass on what goes from one to another.
  PackedExchange(Members<F, W>& all, const Work& work, bool forwards)
      : all_(all),
        work_(work),
        near_(static_cast<std::size_t>(all.fabric.size())),
        place_(static_cast<std::size_t>(all.fabric.rank())),
        sent_(all.map, work.out),
        received_(all.map, work.in),
        forwards_(forwards),
        most_(std::max(sent_.bytes(), received_.bytes())),
        passing_(near_ > 1 ? near_ * most_ : 0),
        lends_(is_worth_lending()),
        straight_out_(work.in_place ? nullptr : sent_.as_they_lie()),
        straight_in_(received_.as_they_lie()) {
    if (!all.leads()) return;
    const std::size_t forwarded =
        forwards_ ? Forwarding<F, W>::memory_bytes(all.map, work.bytes()) : 0;
    outgoing_ = all.wire.scratch(lent_bytes() + forwarded + own_bytes());
    incoming_ = outgoing_ + passing_;
    forwarded_ = outgoing_ + lent_bytes();
    place(forwarded_ + forwarded);
    if (near_ > 1) return;
    outgoing_ = out_;
    incoming_ = in_;
  }

  Task run() {
    if (lends_) co_await lend();
    if (!lends_) co_await run_at_once();
  }

 private:
  // Whether members put in and take out their blocks themselves. They meet once more for that, and
  // without it the leader copies all of them twice. They meet in vain if its memory is not shared.
  [[nodiscard]] bool is_worth_lending() const {
    const choice::Costs& costs = all_.fabric.costs();
    const std::size_t copied = 2 * near_ * sent_.bytes();
    return near_ > 1 && copied >= limits::shared_bytes &&
           choice::copies_ns(costs, static_cast<double>(copied)) >
               choice::meeting_ns(costs, all_.fabric.size());
  }

  // Whole pages, so that they may be shared.
  [[nodiscard]] std::size_t lent_bytes() const { return round_up(2 * passing_, page_bytes); }

  // Where this rank's blocks lie node by node, if they do not do so themselves.
  [[nodiscard]] std::size_t own_bytes() const {
    return (std::size_t{straight_out_ == nullptr} + (straight_in_ == nullptr)) * most_;
  }
  void place(std::byte* own) {
    out_ = straight_out_ == nullptr ? own : straight_out_;
    in_ = straight_in_ != nullptr ? straight_in_ : straight_out_ == nullptr ? own + most_ : own;
  }

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
  Task forward() {
    Forwarding<F, W> forwarding(all_, work_.bytes());
    co_await forwarding.run(
        forwarded_, [&](int node) { return outgoing(node); },
        [&](int node) { return incoming(node); });
  }

  Task run_at_once() {
    const int me = all_.map.node(), nodes = all_.map.nodes();
    if (!all_.leads()) place(own_bytes() > 0 ? all_.wire.scratch(own_bytes()) : nullptr);
    if (straight_out_ == nullptr)
      for (int node = 0; node < nodes; ++node) all_.fabric.spend(sent_.pack(node, out_));
    co_await hand_in();
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
    co_await hand_out();
    for (int node = 0; straight_in_ == nullptr && node < nodes; ++node)
      all_.fabric.spend(received_.unpack(node, in_));
  }

  // From node by node to receiver by receiver, where all was sent from.
  void sort() {
    for (int node = 0; node < all_.map.nodes(); ++node)
      for (std::size_t q = 0; q < near_; ++q)
        all_.copy(outgoing_ + q * received_.bytes() + received_.begin(node),
                  incoming(node) + q * received_.bytes(node), received_.bytes(node));
  }

  // The stages: members hand in what they send, in turn, and get what they receive, one behind the
  // other.
  Task hand_in() {
    if (near_ == 1) co_return;
    const Block mine{out_, sent_.bytes(), nullptr};
    // What a leader sends has a block of each member in turn.
    const layout::Layout in_turn(
        layout::Typemap(work_.bytes())
            .resized(0, static_cast<std::ptrdiff_t>(near_ * work_.bytes())));
    std::vector<Block> places;
    for (std::size_t q = 0; all_.leads() && q < near_; ++q)
      places.push_back({outgoing_ + q * work_.bytes(), mine.bytes, &in_turn});
    const Work work{.count = mine.bytes,
                    .root = all_.leading_place(),
                    .out = std::span(&mine, 1),
                    .in = places};
    co_await on_node(all_, Collective::gather, work);
  }
  Task hand_out() {
    if (near_ == 1) co_return;
    const Block mine{in_, received_.bytes(), nullptr};
    std::vector<Block> places;
    if (all_.leads()) places = equal_places(outgoing_, mine.bytes, near_);
    const Work work{.count = mine.bytes,
                    .root = all_.leading_place(),
                    .out = places,
                    .in = std::span(&mine, 1)};
    co_await on_node(all_, Collective::scatter, work);
  }

  // The leader's memory, as the members of its node know it.
  struct Lent {
    Card card;
    std::uint64_t incoming;  // where it is behind what goes out
  };

  // Nothing has happened if it does not lend after all.
  Task lend() {
    F& f = all_.fabric;
    const Step step = f.next_step();
    const int leader = all_.leading_place();
    if (all_.leads()) {
      lent_ = {f.offer(outgoing_, lent_bytes()), passing_};
      f.populate(outgoing_, passing_);
      co_await f.room(step);
      f.post(step, bytes_of(lent_));
    } else {
      std::memcpy(&lent_, co_await f.posted(leader, step), sizeof lent_);
    }
    lends_ = can_map(lent_.card.transport);
    if (!lends_) {
      f.finish(step);
      co_return;
    }
    f.take(fabric::Route::mapped);
    memory_ = all_.leads() ? outgoing_ : f.map(leader, lent_.card);
    co_await run_by_turns();
  }

  // A turn is of several nodes where they have few bytes.
  Task run_by_turns() {
    F& f = all_.fabric;
    const int nodes = all_.map.nodes(), me = all_.map.node();
    const auto most = static_cast<std::size_t>(all_.map.largest()) * near_ * work_.bytes();
    const int turn =
        forwards_ ? nodes
                  : static_cast<int>(std::max<std::size_t>(1, limits::lent_turn_bytes / most));
    const bool at_once = turn >= nodes - 1;
    const int last = std::max(nodes, 2);  // there is a turn even if there is no other node
    std::vector<Ticket> heard(static_cast<std::size_t>(nodes));
    for (int distance = 1; all_.leads() && !forwards_ && distance < nodes; ++distance)
      heard[static_cast<std::size_t>(distance)] = receive(node_at(-distance));
    Ticket sent = 0;
    for (int first = 1; first < last; first += turn) {
      const int end = std::min(nodes, first + turn);
      const Step step = f.next_step();
      if (at_once) put(me);
      for (int distance = first; distance < end; ++distance) put(node_at(distance));
      f.finish(step);
      if (!all_.leads()) continue;
      co_await f.drained(step);
      for (int distance = first; distance < end && !forwards_; ++distance)
        sent = send(node_at(distance));
    }
    if (forwards_ && all_.leads()) co_await forward();
    if (!at_once) {
      co_await pass_on_node(all_, Collective::alltoall, work_);
      f.take(fabric::Route::mapped);  // from now on again
    }
    Step step = 0;
    for (int first = 1; first < last; first += turn) {
      const int end = std::min(nodes, first + turn);
      step = f.next_step();
      if (all_.leads()) {
        for (int distance = first; distance < end; ++distance)
          co_await all_.wire.done(heard[static_cast<std::size_t>(distance)]);
        co_await f.room(step);
        f.post(step, {});
      } else {
        co_await f.posted(all_.leading_place(), step);
      }
      if (at_once) take(me, near_ * sent_.begin(me));
      for (int distance = first; distance < end; ++distance) {
        const int node = node_at(-distance);
        take(node, lent_.incoming + near_ * received_.begin(node));
      }
      f.finish(step);
    }
    if (!all_.leads()) co_return;
    co_await f.drained(step);
    co_await all_.wire.done(sent);
  }

  // Writes this member's blocks for a node, each in its turn among those of its receiver.
  void put(int node) {
    std::byte* at = memory_ + near_ * sent_.begin(node) + place_ * work_.bytes();
    for (const int rank : all_.map.members(node)) {
      const Block& block = work_.out[static_cast<std::size_t>(rank)];
      coll::pack(at, block, 0, block.bytes);
      at += near_ * work_.bytes();
    }
    all_.fabric.spend(sent_.bytes(node));
  }
  // Reads what a node has for this member, from there in the leader's memory.
  void take(int node, std::size_t from) {
    const std::byte* const at = memory_ + from + place_ * received_.bytes(node);
    all_.fabric.spend(received_.unpack_from(node, at));
  }
  Members<F, W>& all_;
  const Work& work_;
  std::size_t near_, place_;  // members of this node, and this one's place among them
  Packed sent_, received_;
  bool forwards_;
  std::size_t most_;     // bytes that a rank sends or receives
  std::size_t passing_;  // and those that pass its leader, each way
  bool lends_;           // members put them into the leader's memory, and take them from there
  std::byte *straight_out_, *straight_in_;    // this rank's blocks, if they lie node by node
  std::byte *out_ = nullptr, *in_ = nullptr;  // where they do so at last
  // Of leaders: what goes out, what comes in, and messages of others.
  std::byte *outgoing_ = nullptr, *incoming_ = nullptr, *forwarded_ = nullptr;
  Lent lent_{};
  std::byte* memory_ = nullptr;  // the leader's `outgoing_`, as it is mapped here
};

template <Fabric F, Wire W, bool forwards>
Task packed_alltoall(Members<F, W>& all, const Work& work) {
  if (has_no_room(all, work.out[0], work.in[0])) co_return;
  PackedExchange<F, W> exchange(all, work, forwards);
  co_await exchange.run();
}

template <Fabric F, Wire W>
Task direct_alltoall(Members<F, W>& all, const Work& work) {
  if (has_no_room(all, work.out[0], work.in[0])) co_return;
  co_await exchange_blocks<F, W, Collective::alltoall>(all, work, 0);
}

// What a leader needs for messages of a node, each with all that goes to another one.
[[nodiscard]] inline std::size_t most_bytes_packed(const NodeMap& map, const Work& work) {
  const auto near = static_cast<std::size_t>(map.largest());
  return 2 * (near + 1) * static_cast<std::size_t>(map.size()) * work.bytes();
}
inline bool fits_packed(const NodeMap& map, const Way&, const Work& work) {
  return most_bytes_packed(map, work) <= limits::most_packed_bytes;
}
inline bool pays_packed(const NodeMap&, const Way& way, const Work& work) {
  return work.bytes() <= way.packed_bytes;
}

template <Fabric F, Wire W>
inline constexpr Row<F, W> alltoall_rows[] = {
    {{"forwarded", "leaders pack blocks, and other nodes pass them on",
      [](const NodeMap& map, const Way&, const Work& work) {
        return most_bytes_packed(map, work) + Forwarding<F, W>::memory_bytes(map, work.bytes()) <=
               limits::most_packed_bytes;
      },
      [](const NodeMap& map, const Way& way, const Work& work) {
        return pays_packed(map, way, work) && Forwarding<F, W>::pays(map, way, work.bytes());
      }},
     packed_alltoall<F, W, true>},
    {{"packed", "leaders pack blocks", fits_packed, pays_packed}, packed_alltoall<F, W, false>},
    {{"direct", "each rank to each other", always, always}, direct_alltoall<F, W>},
};

}  // namespace tutti::coll::leaders
