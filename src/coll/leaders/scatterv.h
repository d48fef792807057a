// SPDX-License-Identifier: BSD-3-Clause
// Scatterv over nodes: the root speaks for its node. It tells each other leader how long the blocks
// of that node are, who tells its members, and sends them, packed and in pieces.
#pragma once

#include "coll/leaders/pieces.h"
#include "coll/leaders/row.h"

namespace tutti::coll::leaders {

template <Fabric F, Wire W>
Task scatterv_from_root(Members<F, W>& all, const Work& work) {
  const NodeMap& map = all.map;
  const int home = map.node(), nodes = map.nodes();
  const Packed packed(map, work.out);
  RootPieces<W> pieces(all.wire, map, packed);
  std::byte* const memory = all.wire.scratch(Heads::all_bytes(map) + pieces.memory_bytes());
  const Heads heads(map, memory);
  std::vector<NodeBlocks> by_node;
  Ticket last = 0;
  for (int node = 0; node < nodes; ++node) {
    by_node.emplace_back(node == home ? std::vector<Block>() : packed.blocks_of(node));
    if (node == home) continue;
    std::uint64_t* next = heads.sizes(node);
    for (const int rank : map.members(node))
      *next++ = work.out[static_cast<std::size_t>(rank)].bytes;
    std::memset(heads.rider(node), 0, limits::rider_bytes);
    if (by_node.back().rides()) {
      by_node.back().pack(heads.rider(node), 0);
      by_node.back() = {};
    }
    last = all.wire.send(map.leader(node), heads.sizes(node), heads.bytes(node));
  }
  pieces.begin(std::move(by_node), memory + Heads::all_bytes(map), false);
  const std::vector<Block> blocks = packed.blocks_of(home);
  Work own = all.staged(work);
  own.out = blocks;
  co_await on_node(all, Collective::scatterv, own);
  co_await pieces.end();
  co_await all.wire.done(last);
}

// On a node without the root.
template <Fabric F, Wire W>
Task scatterv_to_node(Members<F, W>& all, const Work& work) {
  const bool leads = all.leads();
  const auto near = static_cast<std::size_t>(all.fabric.size());
  const auto place = static_cast<std::size_t>(all.map.place_of(all.map.rank()));
  const Block mine = work.in[0];
  std::vector<std::uint64_t> sizes(near);
  const std::size_t sizes_bytes = near * sizeof sizes[0], head_bytes = Heads::bytes(near);
  const std::size_t head = round_up(head_bytes, 64);
  const bool straight = near == 1 && mine.layout == nullptr;
  // A leader's: the head, two pieces, and its own part of one, if that is to be unpacked.
  constexpr std::size_t piece = NodeBlocks::piece_bytes;
  std::byte* memory = nullptr;
  if (leads) {
    memory = all.wire.scratch(head + (straight                 ? 0
                                      : mine.layout == nullptr ? 2 * piece
                                                               : 3 * piece));
    co_await all.wire.done(all.wire.receive(work.root, memory, head_bytes));
    std::memcpy(sizes.data(), memory, sizes_bytes);
  }
  co_await bcast_on_node(all, reinterpret_cast<std::byte*>(sizes.data()), sizes_bytes);

  const NodeBlocks blocks = blocks_of_sizes(sizes);
  if (sizes[place] > mine.bytes) {
    all.wire.truncation(work.root, sizes[place], mine.bytes);
    co_return;
  }
  std::byte* part = nullptr;
  if (mine.layout != nullptr && blocks.bytes() > piece)
    part = leads ? memory + head + 2 * piece : all.wire.scratch(piece);
  const auto at = [&](std::size_t begin) {
    if (blocks.rides()) return memory + sizes_bytes;
    return straight ? mine.address + begin : memory + head + begin / piece % 2 * piece;
  };
  const auto receive = [&](std::size_t begin) {
    return leads && !blocks.rides() && blocks.bytes_from(begin) > 0
               ? all.wire.receive(work.root, at(begin), blocks.bytes_from(begin))
               : Ticket{0};
  };
  Ticket next = receive(0);
  for (std::size_t begin = 0; begin < blocks.bytes(); begin += piece) {
    const Ticket here = next;
    next = receive(begin + piece);
    if (leads) co_await all.wire.done(here);
    if (straight && !blocks.rides()) continue;
    const Slice bytes = blocks.part(place, begin);
    const bool whole = bytes.count == sizes[place];
    Block taken = whole ? mine : part_of(mine, bytes, part);
    std::vector<Block> out;
    if (leads) out = blocks.places(at(begin), begin);
    const Work own{
        .root = all.leading_place(), .stores = work.stores, .out = out, .in = std::span(&taken, 1)};
    co_await on_node(all, Collective::scatterv, own);
    if (!whole && mine.layout != nullptr) unpack(mine, bytes.begin, part, bytes.count);
  }
}

template <Fabric F, Wire W>
Task scatterv(Members<F, W>& all, const Work& work) {
  if (work.root == all.map.rank())
    co_await scatterv_from_root(all, work);
  else if (all.map.node_of(work.root) == all.map.node())
    co_await on_node(all, Collective::scatterv, all.staged(work));
  else
    co_await scatterv_to_node(all, work);
}

template <Fabric F, Wire W>
inline constexpr Row<F, W> scatterv_rows[] = {
    {{"star", "each leader from the root, in pieces", always, always}, scatterv<F, W>},
};

}  // namespace tutti::coll::leaders
