// SPDX-License-Identifier: BSD-3-Clause
// The collectives that can be measured, one row each.
#pragma once

#include <cstdint>
#include <span>

#include "tutti_bench/arguments.h"
#include "tutti_bench/layout.h"
#include "tutti_bench/mpi.h"
#include "tutti_bench/page.h"

namespace tutti::bench {

// One point: what does not change from call to call.
struct Problem {
  Handle type, op, comm;
  int count;            // elements of `bytes`
  std::size_t bytes;    // the row's size: see docs/bench.md for what it counts
  std::size_t element;  // bytes
  int root, rank, ranks;
  const reduce::Kernel* kernel;  // of the reduction
  Page* page;
  Layout layout;
};

// The two buffers of one call on one rank, of Collective::memory.
struct Slot {
  std::byte* send;
  std::byte* recv;
};

// Bytes of one rank's two buffers: what the call needs of them there, or its limit if that is more.
struct Sizes {
  std::size_t send, recv;
};

struct Collective {
  const char* name;
  bool has_data;
  bool reduces;
  Shape shape;  // of its layout

  Sizes (*memory)(const Problem& problem, int rank);

  void (*call)(const Functions& functions, const Problem& problem, const Slot& slot);
  void (*start)(const Forms<Request*>& functions, const Problem& problem, const Slot& slot,
                Request* request);

  // Whether this rank's `recv` holds a result after the call.
  bool (*has_result)(const Problem& problem);

  // This rank's share, 1/ranks, of the least work that gives all ranks their results, on memory
  // that this rank alone uses: the physical limit when all ranks do it at once. `send` and `recv`
  // of the slot are the memory, so that it is in the same caches as the call's own.
  void (*limit)(const Problem& problem, const Slot& slot, reduce::Stores stores);
};

[[nodiscard]] std::span<const Collective> collectives();

}  // namespace tutti::bench
