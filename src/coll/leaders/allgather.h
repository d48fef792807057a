// SPDX-License-Identifier: BSD-3-Clause
// Allgather and Allgatherv over nodes: the blocks of each node's members meet on the node and pass
// round the ring of leaders. Few bytes take as few messages as can be: each leader packs and passes
// on all that it has, which doubles each time (recursive doubling, or Bruck et al. 1997).
#pragma once

#include "coll/leaders/packed.h"
#include "coll/leaders/passed_round.h"
#include "coll/leaders/row.h"

namespace tutti::coll::leaders {

// The blocks of this node's members come to `memory` of the leader.
template <Fabric F, Wire W>
Task gather_on_node(Members<F, W>& all, const Work& work, const Packed& packed, std::byte* memory) {
  const int me = all.map.node();
  std::vector<Block> places;
  if (all.leads()) places = packed.on_node(me, memory + packed.begin(me));
  const bool there =
      all.leads() && work.out[0].layout == nullptr && work.out[0].address == places[0].address;
  const Work own{.count = work.count,
                 .element_bytes = work.element_bytes,
                 .root = all.leading_place(),
                 .out = there ? std::span<const Block>() : work.out,
                 .in = places};
  co_await on_node(all, work.count == 0 ? Collective::gatherv : Collective::gather, own);
}

// On leaders: `memory` has this node's blocks, and then those of all nodes. Those that pass are of
// nodes that follow each other; behind the last one comes the first. Where the number of nodes is a
// power of two, leaders exchange what they have in pairs, so that none of it goes round the end,
// which takes two messages.
template <Fabric F, Wire W>
Task pass_on_all(Members<F, W>& all, const Packed& packed, std::byte* memory) {
  const int me = all.map.node(), nodes = all.map.nodes();
  const bool in_pairs = std::has_single_bit(static_cast<unsigned>(nodes));
  for (int have = 1; have < nodes; have *= 2) {
    const int more = std::min(have, nodes - have);
    const auto pass = [&](int first, auto message) {
      const int straight = std::min(more, nodes - first);
      const auto bytes = [&](int begin, int end) {
        return packed.begin(end - 1) + packed.bytes(end - 1) - packed.begin(begin);
      };
      Ticket last = message(memory + packed.begin(first), bytes(first, first + straight));
      if (straight < more) last = message(memory, bytes(0, more - straight));
      return last;
    };
    const int to = in_pairs ? me ^ have : (me + nodes - have) % nodes;
    const int from = in_pairs ? to : (me + have) % nodes;
    const auto first = [&](int node) { return in_pairs ? node / have * have : node; };
    (void)pass(first(me), [&](std::byte* at, std::size_t bytes) {
      return all.wire.send(all.map.leader(to), at, bytes);
    });
    co_await all.wire.done(pass(first(from), [&](std::byte* at, std::size_t bytes) {
      return all.wire.receive(all.map.leader(from), at, bytes);
    }));
  }
}

// The call as the stage on each node has it: a Gatherv, if blocks differ.
[[nodiscard]] inline Work gathered_on_node(const Work& work) {
  Work gathered = work;
  if (!std::ranges::all_of(work.in,
                           [&](const Block& block) { return block.bytes == work.bytes(); }))
    gathered.count = 0;
  return gathered;
}

template <Fabric F, Wire W>
Task allgather_by_doubling(Members<F, W>& all, const Work& work) {
  if (has_no_room(all, work.out[0], work.in[static_cast<std::size_t>(all.map.rank())])) co_return;
  const Packed packed(all.map, work.in);
  const Work gathered = gathered_on_node(work);
  std::byte* const straight = packed.as_they_lie();
  std::byte* const memory = straight != nullptr ? straight : all.wire.scratch(packed.bytes());
  co_await gather_on_node(all, gathered, packed, memory);
  if (all.leads()) co_await pass_on_all(all, packed, memory);
  co_await bcast_on_node(all, memory, packed.bytes());
  if (straight == nullptr)
    for (int node = 0; node < all.map.nodes(); ++node)
      all.fabric.spend(packed.unpack(node, memory));
}

template <Fabric F, Wire W>
Task allgather_along_ring(Members<F, W>& all, const Work& work) {
  if (has_no_room(all, work.out[0], work.in[static_cast<std::size_t>(all.map.rank())])) co_return;
  const Packed packed(all.map, work.in);
  PassedRound<F, W> round(all, work.in, packed);
  co_await round.run(gathered_on_node(work));
}

// Of all members.
[[nodiscard]] inline std::size_t bytes_of_blocks(const Work& work) {
  std::size_t bytes = 0;
  for (const Block& block : work.in) bytes += block.bytes;
  return bytes;
}
inline bool fit_every_rank(const NodeMap&, const Way&, const Work& work) {
  return bytes_of_blocks(work) <= limits::most_packed_bytes;
}
inline bool pays_in_few_messages(const NodeMap& map, const Way&, const Work& work) {
  return bytes_of_blocks(work) / static_cast<std::size_t>(map.nodes()) <=
         limits::least_ring_blocks_bytes;
}

template <Fabric F, Wire W>
inline constexpr Row<F, W> allgather_rows[] = {
    {{"doubling", "leaders pass on all they have, in few messages", fit_every_rank,
      pays_in_few_messages},
     allgather_by_doubling<F, W>},
    {{"ring", "blocks go round the nodes", always, always}, allgather_along_ring<F, W>},
};

}  // namespace tutti::coll::leaders
