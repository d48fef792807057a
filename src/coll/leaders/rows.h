// SPDX-License-Identifier: BSD-3-Clause
// The algorithm of each collective for members on several nodes.
#pragma once

#include "coll/leaders/allgather.h"
#include "coll/leaders/allreduce.h"
#include "coll/leaders/alltoall.h"
#include "coll/leaders/barrier.h"
#include "coll/leaders/bcast.h"
#include "coll/leaders/gather.h"
#include "coll/leaders/gatherv.h"
#include "coll/leaders/late.h"
#include "coll/leaders/reduce.h"
#include "coll/leaders/reduce_scatter.h"
#include "coll/leaders/scan.h"
#include "coll/leaders/scatter.h"
#include "coll/leaders/scatterv.h"

namespace tutti::coll::leaders {

template <Fabric F, Wire W>
constexpr Task (*algorithm_of(Collective collective))(Members<F, W>&, const Work&) {
  switch (collective) {
    case Collective::barrier:
      return barrier<F, W>;
    case Collective::bcast:
      return bcast<F, W>;
    case Collective::reduce:
      return reduce<F, W>;
    case Collective::allreduce:
      return allreduce<F, W>;
    case Collective::gather:
      return gather<F, W>;
    case Collective::gatherv:
      return gatherv<F, W>;
    case Collective::scatter:
      return scatter<F, W>;
    case Collective::scatterv:
      return scatterv<F, W>;
    case Collective::allgather:
    case Collective::allgatherv:
      return allgather<F, W>;
    case Collective::alltoall:
      return alltoall<F, W>;
    case Collective::alltoallv:
      return alltoallv<F, W, Collective::alltoallv>;
    case Collective::alltoallw:
      return alltoallv<F, W, Collective::alltoallw>;
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_block:
      return reduce_scatter<F, W>;
    case Collective::scan:
      return scan<F, W>;
    case Collective::exscan:
      return exscan<F, W>;
  }
  return nullptr;
}

template <Fabric F, Wire W>
Task run(Members<F, W>& all, Collective collective, const Work& work) {
  if (work.operands != nullptr) return late(all, collective, work);
  return algorithm_of<F, W>(collective)(all, work);
}

// Whether it serves this call; all members know that alike. Late reductions gather all operands.
// Of the others only scans keep the order of the ranks, where those of each node follow each other.
[[nodiscard]] inline bool serves(const NodeMap& map, Collective collective, const Work& work) {
  if (work.operands != nullptr)
    return work.bytes() <= limits::most_late_bytes / static_cast<std::size_t>(map.size());
  return is_scan(collective) ? map.in_order() : work.commutes;
}

}  // namespace tutti::coll::leaders
