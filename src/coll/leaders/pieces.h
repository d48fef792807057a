// SPDX-License-Identifier: BSD-3-Clause
// The blocks of a node's members, one behind the other and cut into pieces: what the root of a
// Gatherv or Scatterv and the leaders send each other. Both know the sizes by then, so they agree
// on the pieces. The sizes come in a message before, and few bytes ride in that.
#pragma once

#include <vector>

#include "coll/leaders/packed.h"

namespace tutti::coll::leaders {

class NodeBlocks {
 public:
  static constexpr std::size_t piece_bytes = limits::wire_piece_bytes;

  NodeBlocks() = default;
  explicit NodeBlocks(std::vector<Block> blocks) : blocks_(std::move(blocks)) {
    for (const Block& block : blocks_) {
      begins_.push_back(bytes_);
      bytes_ += block.bytes;
    }
  }

  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] bool rides() const { return bytes_ <= limits::rider_bytes; }
  // Of the piece that begins there; 0: there is none.
  [[nodiscard]] std::size_t bytes_from(std::size_t begin) const {
    return begin < bytes_ ? std::min(piece_bytes, bytes_ - begin) : 0;
  }
  // Which bytes of a block are in the piece.
  [[nodiscard]] Slice part(std::size_t index, std::size_t begin) const {
    const std::size_t from = std::max(begin, begins_[index]);
    const std::size_t to =
        std::min(begin + bytes_from(begin), begins_[index] + blocks_[index].bytes);
    return from < to ? Slice{from - begins_[index], to - from} : Slice{};
  }

  [[nodiscard]] std::byte* as_they_lie() const { return leaders::as_they_lie(blocks_); }

  void pack(std::byte* to, std::size_t begin) const {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const Slice bytes = part(i, begin);
      coll::pack(to, blocks_[i], bytes.begin, bytes.count);
      to += bytes.count;
    }
  }
  void unpack(const std::byte* from, std::size_t begin) const {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const Slice bytes = part(i, begin);
      coll::unpack(blocks_[i], bytes.begin, from, bytes.count);
      from += bytes.count;
    }
  }

  // The places of a piece's parts, at `memory`.
  [[nodiscard]] std::vector<Block> places(std::byte* memory, std::size_t begin) const {
    std::vector<Block> places;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      places.push_back({memory, part(i, begin).count, nullptr});
      memory += places.back().bytes;
    }
    return places;
  }

 private:
  std::vector<Block> blocks_;
  std::vector<std::size_t> begins_;
  std::size_t bytes_ = 0;
};

// Bytes of a member's block as a stage has them: where they are, or at `packed` if the block has
// gaps.
inline Block part_of(const Block& block, const Slice& bytes, std::byte* packed) {
  return {block.layout == nullptr ? block.address + bytes.begin : packed, bytes.count, nullptr};
}

// How long the blocks of this node's members are, to those who have no more of them.
inline NodeBlocks blocks_of_sizes(std::span<const std::uint64_t> sizes) {
  std::vector<Block> blocks;
  for (const std::uint64_t size : sizes) blocks.push_back({nullptr, size, nullptr});
  return NodeBlocks(std::move(blocks));
}

// The messages that say how long the blocks are: a number for each member of a node, and behind
// them the blocks, if they ride.
class Heads {
 public:
  static std::size_t bytes(std::size_t members) {
    return members * sizeof(std::uint64_t) + limits::rider_bytes;
  }

  // Those of all nodes, at `memory`.
  Heads(const NodeMap& map, std::byte* memory) : map_(map), memory_(memory) {}
  static std::size_t all_bytes(const NodeMap& map) {
    return round_up(static_cast<std::size_t>(map.size()) * sizeof(std::uint64_t) +
                        static_cast<std::size_t>(map.nodes()) * limits::rider_bytes,
                    64);
  }
  [[nodiscard]] std::uint64_t* sizes(int node) const {
    return reinterpret_cast<std::uint64_t*>(
        memory_ + static_cast<std::size_t>(map_.before(node)) * sizeof(std::uint64_t) +
        static_cast<std::size_t>(node) * limits::rider_bytes);
  }
  [[nodiscard]] std::size_t bytes(int node) const { return bytes(map_.members(node).size()); }
  [[nodiscard]] std::byte* rider(int node) const {
    return reinterpret_cast<std::byte*>(sizes(node) + map_.members(node).size());
  }

 private:
  const NodeMap& map_;
  std::byte* memory_;
};

// As of equal blocks (packed.h), how a node's pieces come to the root of a Gatherv. Of each node
// with as much it could get two in advance.
[[nodiscard]] inline fabric::Whole gathers_whole(const NodeMap& map, const NodeBlocks& blocks) {
  const auto others = static_cast<std::size_t>(map.nodes() - 1);
  return fabric::Whole{others * std::min(blocks.bytes(), 2 * NodeBlocks::piece_bytes) >
                       limits::early_bytes};
}

// The root's messages with all leaders, of which a bounded number is under way: first the first
// piece of each node, then the second.
template <Wire W>
class RootPieces {
 public:
  // `packed`: of all blocks.
  RootPieces(W& wire, const NodeMap& map, const Packed& packed)
      : wire_(wire),
        map_(map),
        place_bytes_(round_up(
            std::clamp<std::size_t>(packed.most_elsewhere(), 1, NodeBlocks::piece_bytes), 64)),
        under_way_(std::clamp<std::size_t>(limits::under_way_bytes / place_bytes_, 4, 64)) {}

  [[nodiscard]] std::size_t memory_bytes() const { return under_way_.size() * place_bytes_; }

  // `by_node`: this one's is empty, and those that ride. Starts the first messages.
  void begin(std::vector<NodeBlocks> by_node, std::byte* memory, bool receives) {
    by_node_ = std::move(by_node);
    memory_ = memory;
    receives_ = receives;
    while (started_ < under_way_.size() && start_next()) {
    }
  }
  Task end() {
    for (; ended_ < started_; ++ended_, (void)start_next()) {
      const Piece& oldest = under_way_[ended_ % under_way_.size()];
      co_await wire_.done(oldest.ticket);
      if (oldest.packed != nullptr) by_node_[oldest.node].unpack(oldest.packed, oldest.begin);
    }
  }

 private:
  struct Piece {
    Ticket ticket = 0;
    const std::byte* packed = nullptr;  // where it has been received, if it is to be unpacked
    std::size_t node = 0, begin = 0;
  };

  // False: there are no more.
  bool start_next() {
    for (;;) {
      if (node_ == by_node_.size()) {
        if (!more_) return false;
        node_ = 0;
        begin_ += NodeBlocks::piece_bytes;
        more_ = false;
      }
      const std::size_t node = node_++;
      if (by_node_[node].bytes_from(begin_) == 0) continue;
      more_ = true;
      start(node);
      return true;
    }
  }

  void start(std::size_t node) {
    const std::size_t number = started_++ % under_way_.size();
    const NodeBlocks& blocks = by_node_[node];
    const std::size_t bytes = blocks.bytes_from(begin_);
    std::byte* const straight = blocks.as_they_lie();
    std::byte* const place =
        straight != nullptr ? straight + begin_ : memory_ + number * place_bytes_;
    const int leader = map_.leader(static_cast<int>(node));
    Piece& next = under_way_[number];
    next = {0, receives_ && straight == nullptr ? place : nullptr, node, begin_};
    if (!receives_ && straight == nullptr) blocks.pack(place, begin_);
    next.ticket = receives_ ? wire_.receive(leader, place, bytes, gathers_whole(map_, blocks))
                            : wire_.send(leader, place, bytes);
  }

  W& wire_;
  const NodeMap& map_;
  std::size_t place_bytes_;
  std::vector<Piece> under_way_;  // the nth that is started has a place here, and in `memory_`
  std::vector<NodeBlocks> by_node_;
  std::byte* memory_ = nullptr;
  bool receives_ = false;
  std::size_t started_ = 0, ended_ = 0;
  std::size_t node_ = 0, begin_ = 0;  // what comes next
  bool more_ = false;                 // some node had a piece there
};

}  // namespace tutti::coll::leaders
