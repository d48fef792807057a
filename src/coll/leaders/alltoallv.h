// SPDX-License-Identifier: BSD-3-Clause
// Alltoallv, Alltoallw, and Alltoall of larger blocks over nodes: small blocks of the first two go
// by the leaders (small_blocks.h). All others go from rank to rank (direct.h).
#pragma once

#include "coll/leaders/direct.h"
#include "coll/leaders/row.h"
#include "coll/leaders/small_blocks.h"

namespace tutti::coll::leaders {

// Between members of this node.
template <Fabric F, Wire W>
Task pass_on_node(Members<F, W>& all, Collective collective, const Work& work) {
  const int me = all.map.node();
  const std::vector<Block> out = blocks_of(all.map, me, work.out);
  const std::vector<Block> in = blocks_of(all.map, me, work.in);
  Work own = work;
  own.in = in;
  own.out = work.in_place ? std::span(in) : std::span(out);
  co_await on_node(all, collective, own);
}

// Blocks of up to `most` bytes by leaders, longer ones from rank to rank.
template <Fabric F, Wire W, Collective collective>
Task exchange_blocks(Members<F, W>& all, const Work& work, std::size_t most) {
  SmallBlocks<F, W> small(all, work, most);
  if (most > 0) co_await small.list();
  DirectExchange<F, W> exchange(all, work, most);
  const std::size_t small_bytes = round_up(small.memory_bytes(), 64);
  const std::size_t bytes = small_bytes + exchange.memory_bytes();
  std::byte* const memory = bytes > 0 ? all.wire.scratch(bytes) : nullptr;
  if (most > 0) co_await small.run(memory);
  co_await exchange.run(memory + small_bytes, [&] { return pass_on_node(all, collective, work); });
}

template <Fabric F, Wire W, Collective collective>
Task packed_alltoallv(Members<F, W>& all, const Work& work) {
  return exchange_blocks<F, W, collective>(all, work, most_small_bytes(all.map, all.way));
}
template <Fabric F, Wire W, Collective collective>
Task direct_alltoallv(Members<F, W>& all, const Work& work) {
  return exchange_blocks<F, W, collective>(all, work, 0);
}

inline bool may_pack(const NodeMap& map, const Way& way, const Work&) {
  return most_small_bytes(map, way) > 0;
}

template <Fabric F, Wire W, Collective collective>
inline constexpr Row<F, W> alltoallv_rows[] = {
    {{"packed", "leaders pack small blocks", may_pack, always}, packed_alltoallv<F, W, collective>},
    {{"direct", "each rank to each other", always, always}, direct_alltoallv<F, W, collective>},
};

}  // namespace tutti::coll::leaders
