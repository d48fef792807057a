// SPDX-License-Identifier: BSD-3-Clause
// Late reductions whose operands are gathered: by an Allgather if all want the result, by a Gather
// if one does, by an Alltoall if each wants a part. Nobody folds here.
//
// Cost: that of the exchange, then P - 1 folds by each member of what it wants, and memory for P
// operands where a result is wanted.
#pragma once

#include <array>
#include <vector>

#include "coll/allgather/rows.h"
#include "coll/alltoall/rows.h"
#include "coll/gather/rows.h"
#include "coll/late/operands.h"
#include "coll/reduce/staged.h"

namespace tutti::coll::late {

using reduction::each_owner;
using reduction::everyone;

namespace detail {

// The first one that fits; the last one fits all.
template <Fabric F>
Task run_row(std::span<const Row<F>> rows, F& f, const Work& work, std::size_t bytes) {
  std::size_t i = 0;
  while (!rows[i].fits({f.size(), bytes})) ++i;
  return rows[i].run(f, work);
}

inline Block block_at(const void* data, std::size_t bytes) {
  return {static_cast<std::byte*>(const_cast<void*>(data)), bytes, nullptr};
}

// A block a member, without the heap where they are few.
class Blocks {
 public:
  explicit Blocks(int count) : count_(static_cast<std::size_t>(count)) {
    if (count_ > few_.size()) many_.resize(count_);
  }
  Block& operator[](int q) { return all()[static_cast<std::size_t>(q)]; }
  [[nodiscard]] std::span<Block> all() {
    return {many_.empty() ? few_.data() : many_.data(), count_};
  }

 private:
  std::size_t count_;
  std::array<Block, 8> few_;
  std::vector<Block> many_;
};

// Room for as much from each as this member has itself.
inline void make_room(Operands& operands, Blocks& in, int ranks, int rank, const Block& mine) {
  operands.make(ranks, rank, mine.bytes);
  for (int q = 0; q < ranks; ++q) in[q] = q == rank ? mine : block_at(operands.of(q), mine.bytes);
}

// The same at a root, with room for its own operand as well, which stays empty. So the blocks are
// equally far apart. Else the root would have to post a list, for which a slot may be too small.
inline void make_even_room(Operands& operands, Blocks& in, int ranks, std::size_t bytes) {
  operands.make(ranks + 1, ranks, bytes);
  for (int q = 0; q < ranks; ++q) in[q] = block_at(operands.of(q), bytes);
}

}  // namespace detail

template <Fabric F>
Task gathered_parts(F& f, const Work& work) {
  const int me = f.rank(), ranks = f.size();
  const std::size_t element = work.element_bytes;
  detail::Blocks in(ranks), out(ranks);
  std::size_t alike = work.parts[0].count * element;
  for (int q = 0; q < ranks; ++q) {
    const Slice& part = work.parts[static_cast<std::size_t>(q)];
    if (part.count != work.parts[0].count) alike = 0;
    out[q] = detail::block_at(static_cast<const std::byte*>(work.send) + part.begin * element,
                              part.count * element);
  }
  detail::make_room(*work.operands, in, ranks, me, out[me]);
  const Work moves{.stores = work.stores, .timed = work.timed, .out = out.all(), .in = in.all()};
  co_await detail::run_row<F>(alltoall::rows<F>, f, moves, alike);
}

template <Fabric F>
Task gathered_vectors(F& f, const Work& work, int root) {
  const int me = f.rank(), ranks = f.size();
  Block mine = detail::block_at(work.send, work.bytes());
  detail::Blocks in(ranks);
  Work moves{.root = std::max(root, 0), .stores = work.stores, .timed = work.timed};
  if (root == everyone) detail::make_room(*work.operands, in, ranks, me, mine);
  if (root == me) detail::make_even_room(*work.operands, in, ranks, mine.bytes);
  if (root == everyone || root == me) moves.in = in.all();
  if (root != me) moves.out = {&mine, 1};
  if (root == everyone)
    co_await detail::run_row<F>(allgather::rows<F>, f, moves, work.bytes());
  else
    co_await detail::run_row<F>(gather::rows<F>, f, moves, work.bytes());
}

template <Fabric F>
Task gathered(F& f, const Work& work, int root) {
  if (root == each_owner) return gathered_parts(f, work);
  return gathered_vectors(f, work, root);
}

}  // namespace tutti::coll::late
