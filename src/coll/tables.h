// SPDX-License-Identifier: BSD-3-Clause
// The table of each collective.
#pragma once

#include "coll/allgather/rows.h"
#include "coll/allreduce/rows.h"
#include "coll/alltoall/rows.h"
#include "coll/barrier/rows.h"
#include "coll/bcast/rows.h"
#include "coll/gather/rows.h"
#include "coll/reduce/rows.h"
#include "coll/reduce_scatter/rows.h"
#include "coll/scan/rows.h"
#include "coll/scatter/rows.h"

namespace tutti::coll {

template <Fabric F>
constexpr std::span<const Row<F>> rows_of(Collective collective) {
  switch (collective) {
    case Collective::barrier:
      return barrier::rows<F>;
    case Collective::bcast:
      return bcast::rows<F>;
    case Collective::reduce:
      return reduction::rows<F>;
    case Collective::allreduce:
      return allreduce::rows<F>;
    case Collective::gather:
    case Collective::gatherv:
      return gather::rows<F>;
    case Collective::scatter:
    case Collective::scatterv:
      return scatter::rows<F>;
    case Collective::allgather:
    case Collective::allgatherv:
      return allgather::rows<F>;
    case Collective::alltoall:
    case Collective::alltoallv:
    case Collective::alltoallw:
      return alltoall::rows<F>;
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_block:
      return reduce_scatter::rows<F>;
    case Collective::scan:
      return scan::rows<F, scan::Kind::inclusive>;
    case Collective::exscan:
      return scan::rows<F, scan::Kind::exclusive>;
  }
  return {};
}

}  // namespace tutti::coll
