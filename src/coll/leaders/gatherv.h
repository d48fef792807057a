// SPDX-License-Identifier: BSD-3-Clause
// Gatherv over nodes: the root speaks for its node. Of each other node the members tell each other
// how long their blocks are, and the leader tells the root. It gathers them and sends them, packed
// and in pieces.
#pragma once

#include "coll/leaders/pieces.h"
#include "coll/leaders/row.h"

namespace tutti::coll::leaders {

template <Fabric F, Wire W>
Task gatherv_to_root(Members<F, W>& all, const Work& work) {
  const NodeMap& map = all.map;
  const int home = map.node(), nodes = map.nodes();
  const Packed rooms(map, work.in);
  RootPieces<W> pieces(all.wire, map, rooms);
  std::byte* const memory = all.wire.scratch(Heads::all_bytes(map) + pieces.memory_bytes());
  const Heads heads(map, memory);
  Ticket last = 0;
  for (int node = 0; node < nodes; ++node)
    if (node != home)
      last = all.wire.receive(map.leader(node), heads.sizes(node), heads.bytes(node));
  co_await all.wire.done(last);

  std::vector<NodeBlocks> by_node;
  for (int node = 0; node < nodes; ++node) {
    std::vector<Block> blocks;
    const std::uint64_t* sent = heads.sizes(node);
    for (const int rank : map.members(node)) {
      if (node == home) break;
      Block block = work.in[static_cast<std::size_t>(rank)];
      if (*sent > block.bytes) {
        all.wire.truncation(rank, *sent, block.bytes);
        co_return;
      }
      block.bytes = *sent++;
      blocks.push_back(block);
    }
    by_node.emplace_back(std::move(blocks));
    if (!by_node.back().rides()) continue;
    by_node.back().unpack(heads.rider(node), 0);
    by_node.back() = {};
  }
  pieces.begin(std::move(by_node), memory + Heads::all_bytes(map), true);
  const std::vector<Block> blocks = rooms.blocks_of(home);
  Work own = all.staged(work);
  own.in = blocks;
  co_await on_node(all, Collective::gatherv, own);
  co_await pieces.end();
}

// On a node without the root.
template <Fabric F, Wire W>
Task gatherv_from_node(Members<F, W>& all, const Work& work) {
  const bool leads = all.leads();
  const auto near = static_cast<std::size_t>(all.fabric.size());
  const auto place = static_cast<std::size_t>(all.map.place_of(all.map.rank()));
  Block mine = work.out[0];
  std::uint64_t size = mine.bytes;
  std::vector<std::uint64_t> sizes(near);
  Block said{reinterpret_cast<std::byte*>(&size), sizeof size, nullptr};
  const std::vector<Block> heard =
      equal_places(reinterpret_cast<std::byte*>(sizes.data()), sizeof size, near);
  const Work listing{.count = sizeof size, .out = std::span(&said, 1), .in = heard};
  co_await on_node(all, Collective::allgather, listing);

  const NodeBlocks blocks = blocks_of_sizes(sizes);
  const std::size_t head_bytes = Heads::bytes(near), sizes_bytes = near * sizeof size;
  const std::size_t piece = blocks.rides() ? 0 : round_up(blocks.bytes_from(0), 64);
  const bool straight = near == 1 && mine.layout == nullptr;
  const bool cut = mine.layout != nullptr && blocks.bytes() > NodeBlocks::piece_bytes;
  // A leader's: the head, two pieces, and its own part of one, if that is to be packed.
  const std::size_t head = round_up(head_bytes, 64);
  std::byte* memory = nullptr;
  if (leads || cut) memory = all.wire.scratch(leads ? head + (cut ? 3 : 2) * piece : piece);
  std::byte* const part = leads && cut ? memory + head + 2 * piece : memory;
  const auto at = [&](std::size_t begin) -> std::byte* {
    if (!leads) return nullptr;
    if (blocks.rides()) return memory + sizes_bytes;
    return straight ? mine.address + begin
                    : memory + head + begin / NodeBlocks::piece_bytes % 2 * piece;
  };
  Ticket sent[2] = {0, 0}, last = 0;
  if (leads) {
    std::memcpy(memory, sizes.data(), sizes_bytes);
    std::memset(memory + sizes_bytes, 0, limits::rider_bytes);
    if (!blocks.rides()) last = all.wire.send(work.root, memory, head_bytes);
  }
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < blocks.bytes(); begin += NodeBlocks::piece_bytes, ++number) {
    if (leads) co_await all.wire.done(sent[number % 2]);
    const Slice bytes = blocks.part(place, begin);
    Block given = mine;
    if (bytes.count < mine.bytes) {
      given = part_of(mine, bytes, part);
      if (mine.layout != nullptr) pack(part, mine, bytes.begin, bytes.count);
    }
    if (!straight || blocks.rides()) {
      std::vector<Block> in;
      if (leads) in = blocks.places(at(begin), begin);
      const Work own{.root = all.leading_place(),
                     .stores = work.stores,
                     .out = std::span(&given, 1),
                     .in = in};
      co_await on_node(all, Collective::gatherv, own);
    }
    if (leads && !blocks.rides())
      last = sent[number % 2] = all.wire.send(work.root, at(begin), blocks.bytes_from(begin),
                                              gathers_whole(all.map, blocks));
  }
  if (leads && blocks.rides()) last = all.wire.send(work.root, memory, head_bytes);
  if (leads) co_await all.wire.done(last);
}

template <Fabric F, Wire W>
Task gatherv(Members<F, W>& all, const Work& work) {
  if (work.root == all.map.rank())
    co_await gatherv_to_root(all, work);
  else if (all.map.node_of(work.root) == all.map.node())
    co_await on_node(all, Collective::gatherv, all.staged(work));
  else
    co_await gatherv_from_node(all, work);
}

template <Fabric F, Wire W>
inline constexpr Row<F, W> gatherv_rows[] = {
    {{"star", "each leader to the root, in pieces", always, always}, gatherv<F, W>},
};

}  // namespace tutti::coll::leaders
