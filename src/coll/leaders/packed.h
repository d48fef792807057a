// SPDX-License-Identifier: BSD-3-Clause
// Where blocks of members lie one behind the other, node by node: what leaders send each other of a
// collective that only moves data.
#pragma once

#include <vector>

#include "coll/leaders/tree.h"

namespace tutti::coll::leaders {

// What decides whether blocks of a Gather or Scatter go along a tree of the nodes.
struct Passing {
  std::size_t start_bytes;                          // as many bytes are sent while a message starts
  std::size_t hop_starts = limits::hop_starts;      // a message takes as long as so many starts
  std::size_t passed_costs = limits::passed_costs;  // and a byte as long as so many of the root's
};

// Whether they do. To start N - 1 messages takes the root N - 1 starts. A tree takes log2 N
// messages, one after the other, and passes bytes on.
[[nodiscard]] inline bool pays_to_pass_on(const NodeMap& map, const Way& way, const Work& work,
                                          const Passing& passing) {
  const std::size_t bytes = static_cast<std::size_t>(map.largest()) * work.bytes();
  const auto others = static_cast<std::size_t>(map.nodes() - 1);
  const std::size_t rounds = std::bit_width(others), start = passing.start_bytes;
  if (way.passed_bytes) return bytes <= *way.passed_bytes;
  return others * start >
         passing.hop_starts * rounds * start + passing.passed_costs * others * bytes;
}

// How blocks of a Gather come to the next leader. One that is late is not to get more in advance
// from all together than it may have of large blocks, but for what the MPI sends of each message at
// once.
[[nodiscard]] inline fabric::Whole gathers_whole(const NodeMap& map, const Work& work) {
  return fabric::Whole{static_cast<std::size_t>(map.size()) * work.bytes() > limits::early_bytes};
}

// What a leader that is not the root holds for its branch, of equal blocks: its own node's first.
class Held {
 public:
  Held(const NodeMap& map, const Tree& tree, std::size_t bytes)
      : map_(map), bytes_(bytes), all_(of(map.node(), tree.nodes())) {}

  [[nodiscard]] std::size_t bytes() const { return all_; }
  [[nodiscard]] std::size_t begin(const Branch& branch) const {
    const int nodes = map_.nodes();
    return of(map_.node(), (branch.node - map_.node() + nodes) % nodes);
  }
  [[nodiscard]] std::size_t bytes(const Branch& branch) const {
    return of(branch.node, branch.nodes);
  }

 private:
  // Of so many nodes from `node` on.
  [[nodiscard]] std::size_t of(int node, int nodes) const {
    const int end = node + nodes, behind = std::max(0, end - map_.nodes());
    const int members = map_.before(end - behind) - map_.before(node) + map_.before(behind);
    return static_cast<std::size_t>(members) * bytes_;
  }

  const NodeMap& map_;
  std::size_t bytes_, all_;
};

// Blocks of as many bytes each, one behind the other.
inline std::vector<Block> equal_places(std::byte* memory, std::size_t bytes, std::size_t count) {
  std::vector<Block> places;
  for (std::size_t i = 0; i < count; ++i) places.push_back({memory + i * bytes, bytes, nullptr});
  return places;
}

// Where blocks are that lie one behind the other, with no gaps; nullptr: they do not.
inline std::byte* as_they_lie(std::span<const Block> blocks) {
  std::byte *first = nullptr, *next = nullptr;
  for (const Block& block : blocks) {
    if (block.bytes == 0) continue;
    if (block.layout != nullptr || (next != nullptr && block.address != next)) return nullptr;
    if (next == nullptr) first = block.address;
    next = block.address + block.bytes;
  }
  return first;
}

// The block of a leader that is alone on its node, of so many bytes, where it can be sent or
// received as it lies; nullptr: it passes through other memory.
template <Fabric F, Wire W>
[[nodiscard]] std::byte* straight_block(const Members<F, W>& all, const Block& block,
                                        std::size_t bytes) {
  const bool straight = all.fabric.size() == 1 && block.layout == nullptr && block.bytes == bytes;
  return straight ? block.address : nullptr;
}

// Of one a rank, those of a node's members.
[[nodiscard]] inline std::vector<Block> blocks_of(const NodeMap& map, int node,
                                                  std::span<const Block> all) {
  std::vector<Block> blocks;
  for (const int rank : map.members(node)) blocks.push_back(all[static_cast<std::size_t>(rank)]);
  return blocks;
}

// The places of `blocks`, one a rank, of which each has its own size.
class Packed {
 public:
  Packed(const NodeMap& map, std::span<const Block> blocks) : map_(map), blocks_(blocks) {
    std::size_t begin = 0;
    for (int node = 0; node < map.nodes(); ++node) {
      nodes_.push_back(begin);
      for (const int rank : map.members(node)) begin += blocks[index(rank)].bytes;
    }
    nodes_.push_back(begin);
  }

  [[nodiscard]] std::size_t bytes() const { return nodes_.back(); }
  [[nodiscard]] std::size_t begin(int node) const { return nodes_[index(node)]; }
  [[nodiscard]] std::size_t bytes(int node) const { return nodes_[index(node) + 1] - begin(node); }

  // Where the blocks lie like that themselves, if they do.
  [[nodiscard]] std::byte* as_they_lie() const {
    return map_.in_order() ? leaders::as_they_lie(blocks_) : nullptr;
  }
  // The most bytes of a node other than this one.
  [[nodiscard]] std::size_t most_elsewhere() const {
    std::size_t most = 0;
    for (int node = 0; node < map_.nodes(); ++node)
      if (node != map_.node()) most = std::max(most, bytes(node));
    return most;
  }

  // Those of a node's members, from `next` on, or where the blocks themselves are.
  [[nodiscard]] std::vector<Block> on_node(int node, std::byte* next) const {
    std::vector<Block> places;
    for (const int rank : map_.members(node)) {
      places.push_back({next, blocks_[index(rank)].bytes, nullptr});
      next += places.back().bytes;
    }
    return places;
  }
  [[nodiscard]] std::vector<Block> blocks_of(int node) const {
    return leaders::blocks_of(map_, node, blocks_);
  }

  // All of these return how many bytes they have copied.
  std::size_t unpack(int node, const std::byte* memory) const {
    return unpack_from(node, memory + begin(node));
  }
  std::size_t unpack_from(int node, const std::byte* next) const {
    for (const int rank : map_.members(node)) {
      const Block& block = blocks_[index(rank)];
      coll::unpack(block, 0, next, block.bytes);
      next += block.bytes;
    }
    return bytes(node);
  }
  std::size_t pack(int node, std::byte* memory) const {
    return pack_to(node, memory + begin(node));
  }
  std::size_t pack_to(int node, std::byte* next) const {
    for (const int rank : map_.members(node)) {
      const Block& block = blocks_[index(rank)];
      coll::pack(next, block, 0, block.bytes);
      next += block.bytes;
    }
    return bytes(node);
  }

 private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  const NodeMap& map_;
  std::span<const Block> blocks_;
  std::vector<std::size_t> nodes_;
};

// Where the root has the blocks of the branches of its tree: where they lie, if they lie one behind
// the other, or in memory of its own. There they always are if a branch goes on at node 0.
class Branches {
 public:
  template <Fabric F, Wire W>
  Branches(Members<F, W>& all, const Packed& packed, const Tree& tree)
      : packed_(packed), nodes_(all.map.nodes()), memory_(packed.as_they_lie()) {
    straight_ = memory_ != nullptr;
    std::size_t around = 0;
    for (const Branch& branch : tree.children())
      if (goes_around(branch)) around = bytes(branch);
    const std::size_t needed = around + (straight_ ? 0 : packed.bytes());
    if (needed > 0) around_ = all.wire.scratch(needed);
    if (!straight_) memory_ = around_ + around;
  }

  [[nodiscard]] std::byte* begin(const Branch& branch) const {
    return goes_around(branch) ? around_ : memory_ + packed_.begin(branch.node);
  }
  [[nodiscard]] std::size_t bytes(const Branch& branch) const {
    std::size_t all = 0;
    for (int i = 0; i < branch.nodes; ++i) all += packed_.bytes((branch.node + i) % nodes_);
    return all;
  }
  // Calls copy(node, place) for each node whose blocks are in memory of the root's own.
  template <class Copy>
  void each_copied(const Branch& branch, Copy copy) const {
    if (straight_ && !goes_around(branch)) return;
    std::byte* place = begin(branch);
    for (int i = 0; i < branch.nodes; ++i) {
      const int node = (branch.node + i) % nodes_;
      copy(node, place);
      place += packed_.bytes(node);
    }
  }

 private:
  [[nodiscard]] bool goes_around(const Branch& branch) const {
    return branch.node + branch.nodes > nodes_;
  }

  const Packed& packed_;
  int nodes_;
  bool straight_;
  std::byte *memory_, *around_ = nullptr;
};

}  // namespace tutti::coll::leaders
