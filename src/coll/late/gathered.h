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

// The same with room for its own operand as well, which fold() does not read. So the blocks are
// equally far apart: else a root would have to post a list, for which a slot may be too small. And
// the member's own operand, which is the user's and only to be read, is not among what is written.
inline void make_even_room(Operands& operands, Blocks& in, int ranks, std::size_t bytes) {
  operands.make(ranks + 1, ranks, bytes);
  for (int q = 0; q < ranks; ++q) in[q] = block_at(operands.of(q), bytes);
}

}  // namespace detail

// What moves vectors to `root`, or to everyone. `even`: there is room for a member's own operand,
// too, as the leaders of nodes want it.
class MovedVectors {
 public:
  MovedVectors(const Work& work, int ranks, int rank, int root, bool even)
      : mine_(detail::block_at(work.send, work.bytes())),
        in_(ranks),
        moves_{.count = work.bytes(),
               .root = std::max(root, 0),
               .stores = work.stores,
               .timed = work.timed} {
    const bool to_all = root == everyone, wants = to_all || root == rank;
    if (to_all && !even)
      detail::make_room(*work.operands, in_, ranks, rank, mine_);
    else if (wants)
      detail::make_even_room(*work.operands, in_, ranks, mine_.bytes);
    if (wants) moves_.in = in_.all();
    if (root != rank) moves_.out = {&mine_, 1};
  }
  MovedVectors(const MovedVectors&) = delete;
  MovedVectors& operator=(const MovedVectors&) = delete;
  [[nodiscard]] const Work& moves() const { return moves_; }

 private:
  Block mine_;
  detail::Blocks in_;
  Work moves_;
};

// What moves each part to its owner. `even`: as above.
class MovedParts {
 public:
  MovedParts(const Work& work, int ranks, int rank, bool even)
      : in_(ranks), out_(ranks), moves_{.stores = work.stores, .timed = work.timed} {
    const std::size_t element = work.element_bytes;
    alike_ = work.parts[0].count * element;
    for (int q = 0; q < ranks; ++q) {
      const Slice& part = work.parts[static_cast<std::size_t>(q)];
      if (part.count != work.parts[0].count) alike_ = 0;
      out_[q] = detail::block_at(static_cast<const std::byte*>(work.send) + part.begin * element,
                                 part.count * element);
    }
    if (even)
      detail::make_even_room(*work.operands, in_, ranks, out_[rank].bytes);
    else
      detail::make_room(*work.operands, in_, ranks, rank, out_[rank]);
    moves_.out = out_.all();
    moves_.in = in_.all();
  }
  MovedParts(const MovedParts&) = delete;
  MovedParts& operator=(const MovedParts&) = delete;
  [[nodiscard]] const Work& moves() const { return moves_; }
  // Bytes of each part; 0: they differ.
  [[nodiscard]] std::size_t alike() const { return alike_; }

 private:
  detail::Blocks in_, out_;
  Work moves_;
  std::size_t alike_;
};

template <Fabric F>
Task gathered_parts(F& f, const Work& work) {
  const MovedParts parts(work, f.size(), f.rank(), false);
  co_await detail::run_row<F>(alltoall::rows<F>, f, parts.moves(), parts.alike());
}

template <Fabric F>
Task gathered_vectors(F& f, const Work& work, int root) {
  const MovedVectors vectors(work, f.size(), f.rank(), root, false);
  if (root == everyone)
    co_await detail::run_row<F>(allgather::rows<F>, f, vectors.moves(), work.bytes());
  else
    co_await detail::run_row<F>(gather::rows<F>, f, vectors.moves(), work.bytes());
}

template <Fabric F>
Task gathered(F& f, const Work& work, int root) {
  if (root == each_owner) return gathered_parts(f, work);
  return gathered_vectors(f, work, root);
}

}  // namespace tutti::coll::late
