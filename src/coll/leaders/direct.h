// SPDX-License-Identifier: BSD-3-Clause
// Blocks that ranks send to those of other nodes themselves, in pieces, of which a bounded number
// is under way. Between members of a node blocks pass meanwhile, in a stage.
//
// A partner may be late, and its MPI keeps what comes early. So only two pieces are under way to
// one: its own pieces show that it is there. Where it sends none, long ones are sent whole, and all
// from a root or to it.
//
// In a round ranks form pairs. So in place a block has left before another comes in its place. All
// ranks start their messages in the same order of rounds and pieces, and skip those without bytes.
// So a message that is awaited is one that the partner starts before all later ones.
//
// The root of a Gather or Scatter alone has several partners. Where sizes do not match, others may
// let their leaders speak for them. So the root has leaders first, and pieces have a length that
// no message of a leader is likely to have.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "coll/leaders/packed.h"

namespace tutti::coll::leaders {

// Of blocks that so many ranks exchange.
[[nodiscard]] constexpr std::size_t direct_piece_bytes(const Way& way, std::size_t ranks) {
  const std::size_t piece = std::bit_floor(limits::early_bytes / (2 * ranks));
  return std::min(std::max(piece, limits::least_direct_piece_bytes), way.most_direct_piece_bytes);
}

// All exchange blocks, or one root has all of a Gather or Scatter.
enum class Partners : std::uint8_t { all, root };

// Of one rank, in a call.
template <Fabric F, Wire W>
class DirectExchange {
 public:
  // Of blocks above `least` bytes, between nodes.
  DirectExchange(Members<F, W>& all, const Work& work, std::size_t least,
                 Partners partners = Partners::all)
      : all_(all),
        work_(work),
        least_(least),
        rooted_(partners == Partners::root),
        piece_(rooted_ ? all.way.most_direct_piece_bytes - 64
                       : direct_piece_bytes(all.way, index(all.map.size()))) {
    std::size_t longest = 1, packed = 0, unpacked = 0;
    int receivers = 0;
    for (int q = 0; q < all.map.size(); ++q) {
      if (is_near(q)) continue;
      const Block &out = work.out[index(q)], &in = work.in[index(q)];
      const std::size_t sent = length(out), received = length(in);
      longest = std::max({longest, sent, received});
      receivers += sent > 0;
      if (is_packed(out)) packed = std::max(packed, sent);
      if (in.layout != nullptr) unpacked = std::max(unpacked, received);
    }
    unpacked_at_ = round_up(std::min(packed, piece_), 64);
    place_bytes_ = unpacked_at_ + round_up(std::min(unpacked, piece_), 64);
    // Some MPIs keep whole ones, too, that come early: to a root, from many.
    const bool to_root = rooted_ && receivers == 1;
    const std::size_t bytes =
        place_bytes_ == 0 && !to_root ? limits::straight_under_way_bytes : limits::under_way_bytes;
    under_way_.resize(
        std::clamp(bytes / std::min(longest, piece_), least_under_way, most_under_way));
  }

  [[nodiscard]] std::size_t memory_bytes() const { return under_way_.size() * place_bytes_; }

  // `stage`: between members of this node, if anything is.
  template <class Stage>
  Task run(std::byte* memory, Stage stage) {
    memory_ = memory;
    start_more();
    co_await stage();
    while (ended_ < started_) {
      Piece& oldest = under_way_[ended_ % under_way_.size()];
      co_await all_.wire.done(oldest.ticket);
      if (oldest.into != nullptr) unpack(*oldest.into, oldest.begin, oldest.packed, oldest.bytes);
      ++ended_;
      start_more();
    }
  }

 private:
  static constexpr std::size_t least_under_way = 4, most_under_way = 64, most_to_one = 2;

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
  // Whether a piece begins there. The last one from a root or to it is shorter than the others, if
  // need be empty: so the pieces of one length never begin those of another.
  [[nodiscard]] bool begins(const Block& block, std::size_t begin) const {
    const std::size_t bytes = length(block);
    return begin < bytes || (rooted_ && bytes > 0 && begin == bytes);
  }

  [[nodiscard]] int partner(int round) const {
    const int ranks = all_.map.size();
    return rooted_ ? all_.map.members()[index(round)] : (round - all_.map.rank() + ranks) % ranks;
  }

  void start_more() {
    while (started_ - ended_ < under_way_.size() && find_next() && may_come()) {
      start(partner(round_), begin_);
      begin_ += piece_;
    }
  }
  // False: there are no more.
  bool find_next() {
    for (; round_ < all_.map.size(); ++round_, begin_ = 0) {
      const int q = partner(round_);
      const bool any = begins(work_.out[index(q)], begin_) || begins(work_.in[index(q)], begin_);
      if (any && !is_near(q)) return true;
    }
    return false;
  }
  // Whether the partner of this round may get another piece. It is there when one has ended.
  [[nodiscard]] bool may_come() const {
    const std::size_t started = begin_ / piece_, under_way = std::min(started_ - ended_, started);
    const std::size_t most = under_way < started ? limits::under_way_bytes / piece_ : 0;
    return rooted_ || under_way < std::max(most, most_to_one);
  }

  void start(int q, std::size_t begin) {
    const std::size_t number = started_++ % under_way_.size();
    Piece& next = under_way_[number];
    next = {};
    std::byte* const place = memory_ + number * place_bytes_;
    const Block &out = work_.out[index(q)], &in = work_.in[index(q)];
    const auto bytes_of = [&](const Block& block) { return std::min(piece_, block.bytes - begin); };
    const bool sends = begins(out, begin), receives = begins(in, begin);
    const bool is_long = bytes_of(sends ? out : in) > limits::least_direct_piece_bytes;
    const fabric::Whole whole{rooted_ || (sends != receives && is_long)};
    if (sends && is_packed(out)) pack(place, out, begin, bytes_of(out));
    if (receives) {
      if (in.layout != nullptr) next = {0, &in, begin, bytes_of(in), place + unpacked_at_};
      next.ticket = all_.wire.receive(
          q, in.layout != nullptr ? place + unpacked_at_ : in.address + begin, bytes_of(in), whole);
    }
    if (sends)
      next.ticket =
          all_.wire.send(q, is_packed(out) ? place : out.address + begin, bytes_of(out), whole);
  }

  Members<F, W>& all_;
  const Work& work_;
  std::size_t least_;
  bool rooted_;
  std::size_t piece_;             // bytes
  std::vector<Piece> under_way_;  // the nth that is started has a place here, and in `memory_`
  std::size_t started_ = 0, ended_ = 0;
  std::size_t place_bytes_ = 0, unpacked_at_ = 0;
  std::byte* memory_ = nullptr;
  int round_ = 0;  // what comes next
  std::size_t begin_ = 0;
};

// What the root of a Gather or Scatter does with its own node; nothing on another one.
template <Collective collective, Fabric F, Wire W>
Task on_node_of_root(Members<F, W>& all, const Work& work) {
  const NodeMap& map = all.map;
  if (map.node_of(work.root) != map.node()) co_return;
  Work own = all.staged(work);
  std::vector<Block> blocks;
  if (work.root == map.rank()) {
    std::span<const Block>& all_blocks = collective == Collective::gather ? own.in : own.out;
    blocks = blocks_of(map, map.node(), all_blocks);
    all_blocks = blocks;
  }
  co_await on_node(all, collective, own);
}

// Whether the blocks of a node may pass its leader.
inline bool fit_leader(const NodeMap& map, const Way&, const Work& work) {
  return static_cast<std::size_t>(map.largest()) * work.bytes() <= limits::most_packed_bytes;
}
// The same of a branch of a binomial tree, of up to half of the nodes.
inline bool fit_branch(const NodeMap& map, const Way&, const Work& work) {
  const auto nodes = std::bit_ceil(static_cast<std::size_t>(map.nodes())) / 2;
  return nodes * static_cast<std::size_t>(map.largest()) * work.bytes() <=
         limits::most_packed_bytes;
}
inline bool pay_by_leader(const NodeMap&, const Way& way, const Work& work) {
  return work.bytes() < way.direct_bytes;
}

// A Gather or Scatter in which blocks pass no leader.
template <Collective collective, Fabric F, Wire W>
Task directly(Members<F, W>& all, const Work& work) {
  const NodeMap& map = all.map;
  const auto ranks = static_cast<std::size_t>(map.size()),
             root = static_cast<std::size_t>(work.root);
  const bool to_root = collective == Collective::gather;
  std::vector<Block> mine(ranks), none(ranks);
  if (work.root != map.rank() && map.node_of(work.root) != map.node())
    mine[root] = to_root ? work.out[0] : work.in[0];
  Work direct;
  if (work.root == map.rank()) {
    direct.out = to_root ? none : work.out;
    direct.in = to_root ? work.in : none;
  } else {
    direct.out = to_root ? mine : none;
    direct.in = to_root ? none : mine;
  }
  // Others may be there before the root, or before one that receives, and send all they have.
  DirectExchange<F, W> exchange(all, direct, 0, Partners::root);
  const std::size_t bytes = exchange.memory_bytes();
  std::byte* const memory = bytes > 0 ? all.wire.scratch(bytes) : nullptr;
  co_await exchange.run(memory, [&] { return on_node_of_root<collective>(all, work); });
}

}  // namespace tutti::coll::leaders
