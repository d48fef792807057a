// SPDX-License-Identifier: BSD-3-Clause
// Late reductions whose operands are gathered: an Allgather for those who all want a result, a
// Gather for one, an Alltoall for a part each. Nobody folds here.
//
// Cost: that of the exchange, then P - 1 folds of what a member wants by itself; and memory for P
// operands where a result is wanted.
#pragma once

#include <vector>

#include "coll/allgather/rows.h"
#include "coll/alltoall/rows.h"
#include "coll/gather/rows.h"
#include "coll/late/operands.h"

namespace tutti::coll::late {

// As `root`, beside a member.
inline constexpr int everyone = -1;
inline constexpr int each_owner = -2;  // of its part: Reduce_scatter

namespace detail {

template <Fabric F>
Task run_row(std::span<const Row<F>> rows, F& f, const Work& work, std::size_t bytes) {
  const Facts facts{f.size(), bytes};
  const Row<F>* row = rows.data();
  while (!row->fits(facts)) ++row;  // the last one fits all
  return row->run(f, work);
}

inline Block block_at(const void* data, std::size_t bytes) {
  return {static_cast<std::byte*>(const_cast<void*>(data)), bytes, nullptr};
}

// Room for `bytes` from each, but for what this member has itself.
inline std::vector<Block> room_for(Operands& operands, int ranks, int rank, const Block& mine) {
  operands.make(ranks, rank, mine.bytes);
  std::vector<Block> in;
  for (int q = 0; q < ranks; ++q)
    in.push_back(q == rank ? mine : block_at(operands.of(q), mine.bytes));
  return in;
}

}  // namespace detail

template <Fabric F>
Task gathered(F& f, const Work& work, int root) {
  const int me = f.rank(), ranks = f.size();
  const Block mine = detail::block_at(work.send, work.bytes());
  std::vector<Block> in, out{mine};
  Work moves{.root = std::max(root, 0), .stores = work.stores, .timed = work.timed};
  if (root == each_owner) {
    const std::size_t element = work.element_bytes;
    std::size_t alike = work.parts[0].count * element;
    out.clear();
    for (const Slice& part : work.parts) {
      if (part.count != work.parts[0].count) alike = 0;
      out.push_back(detail::block_at(mine.address + part.begin * element, part.count * element));
    }
    in = detail::room_for(*work.operands, ranks, me, out[static_cast<std::size_t>(me)]);
    moves.out = out;
    moves.in = in;
    co_await detail::run_row<F>(alltoall::rows<F>, f, moves, alike);
    co_return;
  }
  if (root == everyone || root == me) {
    in = detail::room_for(*work.operands, ranks, me, mine);
    moves.in = in;
  }
  if (root != me) moves.out = out;
  if (root == everyone)
    co_await detail::run_row<F>(allgather::rows<F>, f, moves, work.bytes());
  else
    co_await detail::run_row<F>(gather::rows<F>, f, moves, work.bytes());
}

}  // namespace tutti::coll::late
