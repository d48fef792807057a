// SPDX-License-Identifier: BSD-3-Clause
// The two transposes are those of parallel FFTs. A matrix of ranks x a rows and ranks x b columns
// is spread over the ranks; each sends every other a block of a x b elements.
//   transpose: a rank holds b columns of the matrix, row behind row, so that the block for a peer
//     is contiguous; what it receives it writes as a columns of the transposed matrix, by a vector
//     type of single elements, resized so that the next column begins an element further on.
//   typed_transpose: a rank holds a rows. A block is strided where it is sent from, and is received
//     as columns as above, with a type of its own on each side, as Alltoallw allows.
#include "tutti_bench/layout.h"

#include "tutti_bench/collectives.h"

namespace tutti::bench {
namespace {

// Of `even` elements or rows, what goes from one rank to another: all of it, a half or a quarter
// of it taken away (rounded so that small counts come to zero).
int part(int even, int from, int to, bool uneven) {
  const std::int64_t missing = (std::int64_t{even} * ((from + 2 * to) % 3) + 3) / 4;
  return uneven ? even - static_cast<int>(missing) : even;
}

void push(std::vector<int>& counts, std::vector<int>& displs, int count, int displ) {
  counts.push_back(count);
  displs.push_back(displ);
}

void arrange_shares(Problem& p, bool uneven) {
  for (int r = 0; r < p.ranks; ++r) {
    const int even = p.count / p.ranks + (r < p.count % p.ranks);
    p.layout.recv_counts.push_back(part(even, r, 0, uneven));
  }
}

// The most square rows x columns of a block.
int rows_of(int count) {
  int rows = 1;
  for (int n = 1; n <= count / n; ++n)
    if (count % n == 0) rows = n;
  return rows;
}

Handle vector_type(const Mpi& mpi, Layout& l, Handle of, int count, int block, int stride) {
  Handle made = nullptr;
  mpi.types.vector(count, block, stride, of, &made);
  l.made.push_back(made);
  return made;
}

// The same type, whose next element begins `extent` bytes further on; ready for use.
Handle resized(const Mpi& mpi, Layout& l, Handle of, std::size_t extent) {
  Handle made = nullptr;
  mpi.types.resized(of, 0, static_cast<std::intptr_t>(extent), &made);
  mpi.types.commit(&made);
  l.made.push_back(made);
  return made;
}

void arrange_transpose(const Mpi& mpi, Problem& p, bool uneven) {
  Layout& l = p.layout;
  const int a = rows_of(p.count), b = p.count / a;
  l.recv_type = resized(mpi, l, vector_type(mpi, l, p.type, b, 1, a), p.element);
  for (int r = 0; r < p.ranks; ++r) {
    push(l.send_counts, l.send_displs, part(a, p.rank, r, uneven) * b, r * p.count);
    push(l.recv_counts, l.recv_displs, part(a, r, p.rank, uneven), r * p.count);
  }
}

void arrange_typed_transpose(const Mpi& mpi, Problem& p) {
  Layout& l = p.layout;
  const int a = rows_of(p.count), b = p.count / a, element = static_cast<int>(p.element);
  const Handle rows = vector_type(mpi, l, p.type, a, b, p.ranks * b);
  Handle block = rows;
  mpi.types.commit(&block);
  const Handle column = resized(mpi, l, vector_type(mpi, l, p.type, b, 1, p.ranks * a), p.element);
  const auto ranks = static_cast<std::size_t>(p.ranks);
  l.send_types = mpi.array(std::vector<Handle>(ranks, block));
  l.recv_types = mpi.array(std::vector<Handle>(ranks, column));
  for (int r = 0; r < p.ranks; ++r) {
    push(l.send_counts, l.send_displs, 1, r * b * element);
    push(l.recv_counts, l.recv_displs, a, r * a * element);
  }
}

}  // namespace

bool can_be_uneven(Shape shape) { return shape != Shape::none && shape != Shape::typed_transpose; }

void arrange(const Mpi& mpi, Shape shape, bool uneven, Problem& p) {
  Layout& l = p.layout;
  l.send_type = l.recv_type = p.type;
  if (shape == Shape::shares) return arrange_shares(p, uneven);
  if (shape == Shape::transpose) return arrange_transpose(mpi, p, uneven);
  if (shape == Shape::typed_transpose) return arrange_typed_transpose(mpi, p);
  if (shape == Shape::none) return;
  const bool pairs = shape != Shape::by_rank;
  const int unit = shape == Shape::typed_pairs ? static_cast<int>(p.element) : 1;
  for (int r = 0; r < p.ranks; ++r) {
    push(l.send_counts, l.send_displs, part(p.count, pairs ? p.rank : r, pairs ? r : 0, uneven),
         r * p.count * unit);
    push(l.recv_counts, l.recv_displs, part(p.count, r, pairs ? p.rank : 0, uneven),
         r * p.count * unit);
  }
  const std::vector<Handle> same(static_cast<std::size_t>(p.ranks), p.type);
  l.send_types = l.recv_types = mpi.array(same);
}

void release(const Mpi& mpi, Layout& layout) {
  for (Handle& type : layout.made) mpi.types.free(&type);
  layout.made.clear();
}

}  // namespace tutti::bench
