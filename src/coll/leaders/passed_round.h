// SPDX-License-Identifier: BSD-3-Clause
// The large blocks of an Allgather over nodes: those of each node's members pass round the ring of
// leaders, of which a node may have several, each with a part of all nodes' blocks. While a node's
// blocks are on their way, the members get those that came before.
#pragma once

#include "coll/leaders/packed.h"

namespace tutti::coll::leaders {

// Whether a run, which is what one message has, is of one block. Else it is all of a leader's part
// of a node's blocks: where the ranks of a node that has several follow each other, or a block is
// short.
[[nodiscard]] inline bool goes_by_block(const NodeMap& map, const Way& way,
                                        std::span<const Block> blocks) {
  const auto is_short = [&](const Block& block) {
    return block.bytes > 0 && block.bytes < way.run_bytes;
  };
  return map.largest() == 1 || (!map.in_order() && std::ranges::none_of(blocks, is_short));
}

// As one rank has them. A run goes from where it lies to where it is to lie. A rank whose runs lie
// in several places needs memory: for the blocks of two nodes in turn, or for all if they are
// fewer.
template <Fabric F, Wire W>
class PassedRound {
 public:
  // `packed` is of `blocks`.
  PassedRound(Members<F, W>& all, std::span<const Block> blocks, const Packed& packed)
      : all_(all),
        blocks_(blocks),
        packed_(packed),
        place_(all.map.place_of(all.map.rank())),
        mean_(packed.bytes() / static_cast<std::size_t>(all.map.nodes())),
        leaders_(leaders_of(all.map, all.way, mean_, all.way.block_part_bytes)),
        parts_(all.way, 1, mean_, leaders_),
        by_block_(goes_by_block(all.map, all.way, blocks)),
        straight_(packed.as_they_lie()),
        blocks_lie_(by_block_ &&
                    std::ranges::all_of(blocks, [](const Block& b) { return !b.layout; })) {
    if (straight_ != nullptr || blocks_lie_) return;
    for (int node = 0; node < all.map.nodes(); ++node)
      room_ = std::max(room_, round_up(packed.bytes(node), page_bytes));
    in_turn_ = 2 * room_ < packed.bytes();
    memory_ = all.wire.scratch(in_turn_ ? 2 * room_ : packed.bytes());
  }

  // `work`: the call, with a count only if all blocks are as long.
  Task run(const Work& work) {
    co_await spread_own(work);
    const int nodes = all_.map.nodes();
    for (int back = 1; back <= nodes; ++back) {
      Ticket last = 0;
      if (place_ < leaders_ && back < nodes) {
        for (const Run& run : runs(back - 1, place_))
          last = all_.wire.send(partner(-1), run.address, run.bytes, run.whole);
        for (const Run& run : runs(back, place_))
          last = all_.wire.receive(partner(1), run.address, run.bytes, run.whole);
      }
      if (back > 1) co_await spread(back - 1);
      if (last != 0) co_await all_.wire.done(last);
    }
  }

 private:
  // Nodes are counted backwards from this one, as they pass.
  [[nodiscard]] int node_at(int back) const {
    return (all_.map.node() + all_.map.nodes() - back) % all_.map.nodes();
  }
  // Who has this leader's part there.
  [[nodiscard]] int partner(int back) const {
    return all_.map.members(node_at(back))[static_cast<std::size_t>(place_)];
  }
  // Where that position of the node's blocks is.
  [[nodiscard]] std::byte* at(int back, std::size_t position) const {
    if (straight_ != nullptr) return straight_ + position;
    if (!in_turn_) return memory_ + position;
    const std::size_t begin = packed_.begin(node_at(back));
    return memory_ + static_cast<std::size_t>(back % 2) * room_ + (position - begin);
  }

  struct Run {
    std::byte* address;
    std::size_t bytes;
    fabric::Whole whole;
  };
  // What that leader passes of a node's blocks; all members find the same lengths. The MPI of a
  // late leader is not to keep many.
  [[nodiscard]] std::vector<Run> runs(int back, int leader) const {
    const int node = node_at(back);
    const Slice part = parts_.of({packed_.begin(node), packed_.bytes(node)}, leader);
    const auto whole = fabric::Whole{part.count > limits::most_cut_bytes};
    if (!by_block_) return {{at(back, part.begin), part.count, whole}};
    std::vector<Run> runs;
    std::size_t begin = packed_.begin(node);
    for (const int rank : all_.map.members(node)) {
      const Block& block = blocks_[static_cast<std::size_t>(rank)];
      const Slice run = overlap({begin, block.bytes}, part);
      if (run.count > 0)
        runs.push_back({blocks_lie_ ? block.address + (run.begin - begin) : at(back, run.begin),
                        run.count, whole});
      begin += block.bytes;
    }
    return runs;
  }

  // The blocks of this node's members come to all of them.
  Task spread_own(const Work& work) {
    const int me = all_.map.node();
    const std::vector<Block> places =
        blocks_lie_ ? packed_.blocks_of(me) : packed_.on_node(me, at(0, packed_.begin(me)));
    const Work own{.count = work.count,
                   .element_bytes = work.element_bytes,
                   .stores = work.stores,
                   .out = work.out,
                   .in = places};
    co_await on_node(all_, work.count == 0 ? Collective::allgatherv : Collective::allgather, own);
    take(0);
  }

  // The blocks of another node, which have come to the leaders, do so.
  Task spread(int back) {
    const auto members = all_.map.members(all_.map.node());
    for (int leader = 0; leader < leaders_; ++leader)
      for (const Run& run : runs(back, leader))
        co_await bcast_on_node(all_, run.address, run.bytes,
                               members[static_cast<std::size_t>(leader)]);
    take(back);
  }

  // From memory to where they are to lie.
  void take(int back) {
    if (memory_ == nullptr) return;
    const int node = node_at(back);
    all_.fabric.spend(packed_.unpack_from(node, at(back, packed_.begin(node))));
  }

  Members<F, W>& all_;
  std::span<const Block> blocks_;
  const Packed& packed_;
  int place_;         // among the members of this node
  std::size_t mean_;  // bytes of a node
  int leaders_;
  Parts parts_;
  bool by_block_;
  std::byte* straight_;  // where all blocks lie one behind the other, node by node, if they do
  bool blocks_lie_;      // each of them without gaps
  bool in_turn_ = false;
  std::size_t room_ = 0;
  std::byte* memory_ = nullptr;
};

}  // namespace tutti::coll::leaders
