// SPDX-License-Identifier: BSD-3-Clause
// What may be chosen of collectives over nodes; the same on all members.
#pragma once

#include <cstddef>

#include "choice/limits.h"

namespace tutti::coll::leaders {

struct Way {
  int leaders = 1;  // of each node, in a large Allreduce; at most the members of the smallest node
  std::size_t slice_bytes = limits::most_ring_slice_bytes;  // of a large Allreduce
  // Of an Alltoall: blocks up to this size are packed. Where two nodes then have no more than
  // `forwarded_bytes` for each other, others pass it on.
  std::size_t packed_bytes = limits::packed_alltoall_bytes;
  std::size_t forwarded_bytes = limits::forwarded_alltoall_bytes;
};

}  // namespace tutti::coll::leaders
