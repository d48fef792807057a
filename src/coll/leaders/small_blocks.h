// SPDX-License-Identifier: BSD-3-Clause
// Small blocks of an Alltoallv or Alltoallw over nodes: what goes from one node to another is one
// message, in which the blocks of each sender lie in the order of their receivers, sender by
// sender. Each rank knows what it sends and receives, and nothing of others. So the members of a
// node first list that, and then all of them know where in the node's messages their blocks are.
//
// Members write what they send into their leader's memory, and read there what comes for them, as
// in an Alltoall (alltoall.h). Where that memory cannot be mapped they hand it in by a Gatherv and
// get it by a Scatterv.
#pragma once

#include <vector>

#include "coll/leaders/packed.h"

namespace tutti::coll::leaders {

// The largest block that is small; 0: none is.
[[nodiscard]] inline std::size_t most_small_bytes(const NodeMap& map, const Way& way) {
  const auto near = static_cast<std::size_t>(map.largest());
  const auto ranks = static_cast<std::size_t>(map.size());
  const auto nodes = static_cast<std::size_t>(map.nodes());
  const std::size_t listed = near * (ranks + nodes) * sizeof(std::uint32_t);
  if (near == 1 || listed > limits::most_listing_bytes) return 0;
  return std::min(way.packed_bytes, limits::most_packed_bytes / (4 * near * ranks));
}

// Of one rank, in a call: list(), then run() in so much memory as it then wants.
template <Fabric F, Wire W>
class SmallBlocks {
 public:
  SmallBlocks(Members<F, W>& all, const Work& work, std::size_t most)
      : all_(all),
        work_(work),
        most_(most),
        me_(all.map.node()),
        near_(index(all.fabric.size())),
        place_(index(all.fabric.rank())),
        row_(index(all.map.size() + all.map.nodes())) {}

  Task list() {
    table_.resize(near_ * row_);
    std::vector<std::uint32_t> mine(row_);
    for (int node = 0; node < all_.map.nodes(); ++node) {
      if (node == me_) continue;
      std::uint32_t& sent = mine[index(all_.map.size() + node)];
      for (const int rank : all_.map.members(node)) {
        mine[index(rank)] = small(work_.in[index(rank)]);
        sent += small(work_.out[index(rank)]);
      }
    }
    const std::size_t bytes = row_ * sizeof mine[0];
    Block said{reinterpret_cast<std::byte*>(mine.data()), bytes, nullptr};
    const std::vector<Block> heard =
        equal_places(reinterpret_cast<std::byte*>(table_.data()), bytes, near_);
    const Work listing{.count = bytes, .out = std::span(&said, 1), .in = heard};
    co_await on_node(all_, Collective::allgather, listing);
    find_places();
  }

  // A leader has the node's messages. Where members hand their blocks in and out, it has them a
  // second time, and each member has its own.
  [[nodiscard]] std::size_t memory_bytes() const {
    if (table_.empty()) return 0;
    const std::size_t handed = near_ > 1 ? sent_by(place_) + received_by(place_) : 0;
    return leaders_bytes() + handed;
  }

  Task run(std::byte* memory) {
    if (sent_ + received_ == 0) co_return;
    messages_ = memory;
    own_ = memory + leaders_bytes();
    if (near_ > 1) co_await lend();  // before anything may be written there
    Ticket heard = 0, last = 0;
    for (int distance = 1; all_.leads() && distance < all_.map.nodes(); ++distance)
      heard = std::max(heard, receive(node_at(-distance)));
    const bool hands = near_ > 1 && lent_ == nullptr;
    if (hands)
      co_await hand_in();
    else
      co_await put();
    for (int distance = 1; all_.leads() && distance < all_.map.nodes(); ++distance)
      last = std::max(last, send(node_at(distance)));
    if (all_.leads()) co_await all_.wire.done(heard);
    if (hands)
      co_await hand_out();
    else
      co_await take();
    if (all_.leads()) co_await all_.wire.done(last);
  }

 private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  [[nodiscard]] std::uint32_t small(const Block& block) const {
    return block.bytes <= most_ ? static_cast<std::uint32_t>(block.bytes) : 0;
  }
  [[nodiscard]] int node_at(int distance) const {
    return (me_ + distance + all_.map.nodes()) % all_.map.nodes();
  }

  // Whole pages, so that they may be shared.
  [[nodiscard]] std::size_t lent_bytes() const { return round_up(sent_ + received_, page_bytes); }
  [[nodiscard]] std::size_t leaders_bytes() const {
    if (!all_.leads()) return 0;
    return near_ > 1 ? lent_bytes() + sent_ + received_ : sent_ + received_;
  }

  // What member `q` of this node receives from a rank, and sends to a node.
  [[nodiscard]] std::size_t received(std::size_t q, int rank) const {
    return table_[q * row_ + index(rank)];
  }
  [[nodiscard]] std::size_t sent(std::size_t q, int node) const {
    return table_[q * row_ + index(all_.map.size() + node)];
  }
  [[nodiscard]] std::size_t received_by(std::size_t q) const {
    std::size_t bytes = 0;
    for (int rank = 0; rank < all_.map.size(); ++rank) bytes += received(q, rank);
    return bytes;
  }
  [[nodiscard]] std::size_t sent_by(std::size_t q) const {
    std::size_t bytes = 0;
    for (int node = 0; node < all_.map.nodes(); ++node) bytes += sent(q, node);
    return bytes;
  }

  void find_places() {
    const auto ranks = index(all_.map.size());
    // In the order of the table: what all members receive and send, and the members before this
    // one.
    std::vector<std::size_t> all(row_), before(row_);
    for (std::size_t q = 0; q < near_; ++q)
      for (std::size_t i = 0; i < row_; ++i) {
        if (q == place_) before[i] = all[i];
        all[i] += table_[q * row_ + i];
      }
    mine_in_.resize(ranks);
    for (int node = 0; node < all_.map.nodes(); ++node) {
      outgoing_.push_back(sent_);
      incoming_.push_back(received_);
      mine_out_.push_back(sent_ + before[ranks + index(node)]);
      sent_ += all[ranks + index(node)];
      for (const int rank : all_.map.members(node)) {
        mine_in_[index(rank)] = received_ + before[index(rank)];
        received_ += all[index(rank)];
      }
    }
    outgoing_.push_back(sent_);
    incoming_.push_back(received_);
  }

  // 0: there is nothing.
  Ticket send(int node) {
    const std::size_t begin = outgoing_[index(node)], bytes = outgoing_[index(node) + 1] - begin;
    return bytes == 0 ? 0 : all_.wire.send(all_.map.leader(node), messages_ + begin, bytes);
  }
  Ticket receive(int node) {
    const std::size_t begin = incoming_[index(node)], bytes = incoming_[index(node) + 1] - begin;
    std::byte* const to = messages_ + sent_ + begin;
    return bytes == 0 ? 0 : all_.wire.receive(all_.map.leader(node), to, bytes);
  }

  // This rank's blocks for a node or from a rank, packed.
  std::byte* put_for(int node, std::byte* to) {
    std::byte* const begin = to;
    for (const int rank : all_.map.members(node)) {
      const Block& block = work_.out[index(rank)];
      coll::pack(to, block, 0, small(block));
      to += small(block);
    }
    all_.fabric.spend(static_cast<std::size_t>(to - begin));
    return to;
  }
  void take_from(int rank, const std::byte* from) {
    const Block& block = work_.in[index(rank)];
    coll::unpack(block, 0, from, small(block));
    all_.fabric.spend(small(block));
  }

  // All members do it at once, in the memory of the leader, which waits for them.
  Task put() {
    F& f = all_.fabric;
    std::byte* const messages = near_ > 1 ? lent_ : messages_;
    const Step step = near_ > 1 ? f.next_step() : 0;
    for (int node = 0; node < all_.map.nodes(); ++node)
      if (node != me_) (void)put_for(node, messages + mine_out_[index(node)]);
    if (near_ > 1) f.finish(step);
    if (near_ > 1 && all_.leads()) co_await f.drained(step);
  }
  Task take() {
    F& f = all_.fabric;
    const std::byte* const messages = (near_ > 1 ? lent_ : messages_) + sent_;
    const Step step = near_ > 1 ? f.next_step() : 0;
    if (near_ > 1 && all_.leads()) {
      co_await f.room(step);
      f.post(step, {});
    } else if (near_ > 1) {
      co_await f.posted(all_.leading_place(), step);
    }
    for (int node = 0; node < all_.map.nodes(); ++node) {
      if (node == me_) continue;
      for (const int rank : all_.map.members(node))
        take_from(rank, messages + mine_in_[index(rank)]);
    }
    if (near_ > 1) f.finish(step);
    if (near_ > 1 && all_.leads()) co_await f.drained(step);
  }

  // Where the leader's memory can be mapped, `lent_` is where it is here.
  Task lend() {
    F& f = all_.fabric;
    const Step step = f.next_step();
    const int leader = all_.leading_place();
    Card card;
    if (all_.leads()) {
      card = f.offer(messages_, lent_bytes());
      f.populate(messages_, lent_bytes());
      co_await f.room(step);
      f.post(step, bytes_of(card));
    } else {
      std::memcpy(&card, co_await f.posted(leader, step), sizeof card);
    }
    f.finish(step);
    if (!can_map(card.transport)) co_return;
    f.take(fabric::Route::mapped);
    lent_ = all_.leads() ? messages_ : f.map(leader, card);
  }

  // Of each member one block, in the leader's memory behind the messages.
  [[nodiscard]] std::vector<Block> places(std::byte* memory, bool sends) const {
    std::vector<Block> found;
    for (std::size_t q = 0; all_.leads() && q < near_; ++q) {
      found.push_back({memory, sends ? sent_by(q) : received_by(q), nullptr});
      memory += found.back().bytes;
    }
    return found;
  }
  Task hand_in() {
    std::byte* next = own_;
    for (int node = 0; node < all_.map.nodes(); ++node)
      if (node != me_) next = put_for(node, next);
    const Block mine{own_, sent_by(place_), nullptr};
    std::vector<Block> all = places(messages_ + lent_bytes(), true);
    const Work work{.root = all_.leading_place(), .out = std::span(&mine, 1), .in = all};
    co_await on_node(all_, Collective::gatherv, work);
    if (!all_.leads()) co_return;
    std::byte* to = messages_;
    for (int node = 0; node < all_.map.nodes(); ++node)
      for (std::size_t q = 0; q < near_; to += sent(q, node), ++q) {
        all_.copy(to, all[q].address, sent(q, node));
        all[q].address += sent(q, node);
      }
  }
  Task hand_out() {
    const std::vector<Block> all = places(messages_ + lent_bytes() + sent_, false);
    std::vector<Block> next = all;
    const std::byte* heard = messages_ + sent_;
    for (int node = 0; all_.leads() && node < all_.map.nodes(); ++node)
      for (const int rank : all_.map.members(node))
        for (std::size_t q = 0; q < near_; heard += received(q, rank), ++q) {
          all_.copy(next[q].address, heard, received(q, rank));
          next[q].address += received(q, rank);
        }
    std::byte* from = own_ + sent_by(place_);
    const Block mine{from, received_by(place_), nullptr};
    const Work work{.root = all_.leading_place(), .out = all, .in = std::span(&mine, 1)};
    co_await on_node(all_, Collective::scatterv, work);
    for (int node = 0; node < all_.map.nodes(); ++node)
      for (const int rank : all_.map.members(node)) {
        if (node == me_) continue;
        take_from(rank, from);
        from += received(place_, rank);
      }
  }

  Members<F, W>& all_;
  const Work& work_;
  std::size_t most_;
  int me_;                    // this node
  std::size_t near_, place_;  // its members, and this one's place among them
  // A row for each member of the node: the bytes that it receives from each rank, and that it sends
  // to each node.
  std::size_t row_;
  std::vector<std::uint32_t> table_;
  // Where the message for each node, or from each, begins, and how long all are; and this member's
  // part of each that goes out, and what comes from each rank.
  std::vector<std::size_t> outgoing_, incoming_, mine_out_, mine_in_;
  std::size_t sent_ = 0, received_ = 0;
  std::byte *messages_ = nullptr, *own_ = nullptr;
  std::byte* lent_ = nullptr;
};

}  // namespace tutti::coll::leaders
