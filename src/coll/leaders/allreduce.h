// SPDX-License-Identifier: BSD-3-Clause
// Allreduce over nodes. Small: each node's Reduce, a sum of the leaders (cube.h), each node's
// Bcast. Large: all of that in slices, along a ring of the nodes (ring.h).
#pragma once

#include "coll/leaders/cube.h"
#include "coll/leaders/ring.h"

namespace tutti::coll::leaders {

template <Fabric F, Wire W>
Task small_allreduce(Members<F, W>& all, const Work& work) {
  auto* const sum = static_cast<std::byte*>(work.recv);
  co_await reduce_on_node(all, work, {0, work.count}, sum);
  if (all.leads()) co_await sum_of_leaders(all, work, sum);
  co_await bcast_on_node(all, sum, work.bytes());
}

template <Fabric F, Wire W>
Task large_allreduce(Members<F, W>& all, const Work& work) {
  Ring<F, W> ring(all, work);
  co_await ring.run();
}

// Only a small one may need a leader's memory for as much as the vector.
inline bool goes_along_ring(const NodeMap& map, const Way& way, std::size_t bytes) {
  const auto nodes = static_cast<std::size_t>(map.nodes());
  const std::size_t most = std::has_single_bit(nodes) ? way.halved_bytes : way.paired_bytes;
  return bytes / nodes > most || bytes > limits::most_halved_bytes;
}

template <Fabric F, Wire W>
Task allreduce(Members<F, W>& all, const Work& work) {
  return goes_along_ring(all.map, all.way, work.bytes()) ? large_allreduce(all, work)
                                                         : small_allreduce(all, work);
}

}  // namespace tutti::coll::leaders
