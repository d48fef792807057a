// SPDX-License-Identifier: BSD-3-Clause
// Alltoallv, Alltoallw, and Alltoall of larger blocks over nodes: small blocks of the first two go
// by the leaders (small_blocks.h). Each rank sends its other blocks to ranks of other nodes itself,
// in pieces, of which a bounded number is under way. Between members of a node blocks pass
// directly, while the first messages are on their way.
//
// In each round everyone has one partner, which has it as well. So in place a block has left before
// another comes in its place. Rounds and pieces come in one order for all, and who has no message
// in one goes on: whoever waits does so for a message that its partner starts before all later
// ones.
#pragma once

#include <vector>

#include "coll/leaders/small_blocks.h"

namespace tutti::coll::leaders {

// Of one rank, in a call.
template <Fabric F, Wire W>
class DirectExchange {
 public:
  // Of blocks above `least` bytes, between nodes.
  DirectExchange(Members<F, W>& all, const Work& work, std::size_t least)
      : all_(all), work_(work), least_(least) {
    std::size_t longest = 1, packed = 0, unpacked = 0;
    for (int q = 0; q < all.map.size(); ++q) {
      if (is_near(q)) continue;
      const Block &out = work.out[index(q)], &in = work.in[index(q)];
      const std::size_t sent = length(out), received = length(in);
      longest = std::max({longest, sent, received});
      if (is_packed(out)) packed = std::max(packed, sent);
      if (in.layout != nullptr) unpacked = std::max(unpacked, received);
    }
    unpacked_at_ = round_up(std::min(packed, piece), 64);
    place_bytes_ = unpacked_at_ + round_up(std::min(unpacked, piece), 64);
    const std::size_t bytes =
        place_bytes_ == 0 ? limits::straight_under_way_bytes : limits::under_way_bytes;
    under_way_.resize(
        std::clamp(bytes / std::min(longest, piece), least_under_way, most_under_way));
  }

  [[nodiscard]] std::size_t memory_bytes() const { return under_way_.size() * place_bytes_; }

  Task run(Collective collective, std::byte* memory) {
    memory_ = memory;
    while (started_ < under_way_.size() && start_next()) {
    }
    co_await pass(collective);
    while (ended_ < started_) {
      Piece& oldest = under_way_[ended_ % under_way_.size()];
      co_await all_.wire.done(oldest.ticket);
      if (oldest.into != nullptr) unpack(*oldest.into, oldest.begin, oldest.packed, oldest.bytes);
      ++ended_;
      (void)start_next();
    }
  }

 private:
  static constexpr std::size_t piece = limits::wire_piece_bytes;
  static constexpr std::size_t least_under_way = 4, most_under_way = 64;

  // A piece to a partner, and one from it.
  struct Piece {
    Ticket ticket = 0;            // of the later message
    const Block* into = nullptr;  // what it came for, if it has been received at `packed`
    std::size_t begin = 0, bytes = 0;
    const std::byte* packed = nullptr;
  };

  static std::size_t index(int q) { return static_cast<std::size_t>(q); }
  [[nodiscard]] bool is_near(int q) const { return all_.map.node_of(q) == all_.map.node(); }
  [[nodiscard]] bool is_packed(const Block& out) const {
    return work_.in_place || out.layout != nullptr;
  }
  [[nodiscard]] std::size_t length(const Block& block) const {
    return block.bytes > least_ ? block.bytes : 0;
  }
  [[nodiscard]] std::size_t left(const Block& block, std::size_t begin) const {
    return begin < length(block) ? std::min(piece, block.bytes - begin) : 0;
  }

  // False: there are no more.
  bool start_next() {
    const int ranks = all_.map.size();
    for (; round_ < ranks; ++round_, begin_ = 0) {
      const int q = (round_ - all_.map.rank() + ranks) % ranks;
      if (is_near(q)) continue;
      if (left(work_.out[index(q)], begin_) + left(work_.in[index(q)], begin_) == 0) continue;
      start(q, begin_);
      begin_ += piece;
      return true;
    }
    return false;
  }

  void start(int q, std::size_t begin) {
    const std::size_t number = started_++ % under_way_.size();
    Piece& next = under_way_[number];
    next = {};
    std::byte* const place = memory_ + number * place_bytes_;
    const Block &out = work_.out[index(q)], &in = work_.in[index(q)];
    if (const std::size_t bytes = left(out, begin); bytes > 0 && is_packed(out))
      pack(place, out, begin, bytes);
    if (const std::size_t bytes = left(in, begin); bytes > 0) {
      if (in.layout != nullptr) next = {0, &in, begin, bytes, place + unpacked_at_};
      next.ticket = all_.wire.receive(
          q, in.layout != nullptr ? place + unpacked_at_ : in.address + begin, bytes);
    }
    if (const std::size_t bytes = left(out, begin); bytes > 0)
      next.ticket = all_.wire.send(q, is_packed(out) ? place : out.address + begin, bytes);
  }

  // Between members of this node.
  Task pass(Collective collective) {
    std::vector<Block> out, in;
    for (const int rank : all_.map.members(all_.map.node())) {
      out.push_back(work_.out[index(rank)]);
      in.push_back(work_.in[index(rank)]);
    }
    Work own = work_;
    own.in = in;
    own.out = work_.in_place ? std::span(in) : std::span(out);
    co_await on_node(all_, collective, own);
  }

  Members<F, W>& all_;
  const Work& work_;
  std::size_t least_;
  std::vector<Piece> under_way_;  // the nth that is started has a place here, and in `memory_`
  std::size_t started_ = 0, ended_ = 0;
  std::size_t place_bytes_ = 0, unpacked_at_ = 0;
  std::byte* memory_ = nullptr;
  int round_ = 0;  // what comes next
  std::size_t begin_ = 0;
};

template <Fabric F, Wire W, Collective collective>
Task alltoallv(Members<F, W>& all, const Work& work) {
  const std::size_t most = collective == Collective::alltoall
                               ? 0
                               : SmallBlocks<F, W>::most_bytes(all.map, all.way.packed_bytes);
  SmallBlocks<F, W> small(all, work, most);
  if (most > 0) co_await small.list();
  DirectExchange<F, W> exchange(all, work, most);
  const std::size_t small_bytes = round_up(small.memory_bytes(), 64);
  const std::size_t bytes = small_bytes + exchange.memory_bytes();
  std::byte* const memory = bytes > 0 ? all.wire.scratch(bytes) : nullptr;
  if (most > 0) co_await small.run(memory);
  co_await exchange.run(collective, memory + small_bytes);
}

}  // namespace tutti::coll::leaders
