// SPDX-License-Identifier: BSD-3-Clause
// Where the blocks of a call lie: the counts, displacements and types of the vector forms.
#pragma once

#include <cstdint>
#include <vector>

#include "tutti_bench/mpi.h"

namespace tutti::bench {

struct Problem;

enum class Shape : std::uint8_t {
  none,             // the arguments are the same for all ranks: nothing to lay out
  by_rank,          // a count a rank, the same list on all: Gatherv, Scatterv, Allgatherv
  shares,           // Reduce_scatter: the vector's parts, one behind the other
  pairs,            // a count for each pair of ranks, in elements
  typed_pairs,      // the same for Alltoallw: in bytes, with a type a peer
  transpose,        // rows sent, columns received
  typed_transpose,  // slabs of rows of a matrix to slabs of rows of its transpose
};

struct Layout {
  std::vector<int> send_counts, send_displs, recv_counts, recv_displs;
  Handle send_type = nullptr, recv_type = nullptr;
  std::vector<std::byte> send_types, recv_types;  // Alltoallw's
  std::vector<Handle> made;                       // derived types, to be freed
};

// Fills in `problem.layout`. Uneven: counts differ from rank to rank and some are zero, at the same
// displacements, so that both fit the same buffers. Local.
void arrange(const Mpi& mpi, Shape shape, bool uneven, Problem& problem);
void release(const Mpi& mpi, Layout& layout);

// Whether `uneven` makes a difference.
[[nodiscard]] bool can_be_uneven(Shape shape);

}  // namespace tutti::bench
