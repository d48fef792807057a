// SPDX-License-Identifier: BSD-3-Clause
// Late reductions over nodes: the operands are gathered, by an Allgather, Gather or Alltoallv, and
// folded by a thread of each member that wants a result when that is over (coll/late/). So operands
// meet in the order of the ranks, and need not commute.
#pragma once

#include "coll/late/gathered.h"
#include "coll/leaders/allgather.h"
#include "coll/leaders/alltoall.h"
#include "coll/leaders/gather.h"

namespace tutti::coll::leaders {

template <Fabric F, Wire W>
Task run_moves(std::span<const Row<F, W>> rows, Members<F, W>& all, const Work& work) {
  return choose(rows, all.map, all.way, work).run(all, work);
}

template <Fabric F, Wire W>
Task late_in_parts(Members<F, W>& all, const Work& work) {
  const coll::late::MovedParts parts(work, all.map.size(), all.map.rank(), true);
  co_await run_moves<F, W>(alltoallv_rows<F, W, Collective::alltoallv>, all, parts.moves());
}

template <Fabric F, Wire W>
Task late_to(Members<F, W>& all, const Work& work, int root) {
  const coll::late::MovedVectors vectors(work, all.map.size(), all.map.rank(), root, true);
  if (root == coll::late::everyone)
    co_await run_moves<F, W>(allgather_rows<F, W>, all, vectors.moves());
  else
    co_await run_moves<F, W>(gather_rows<F, W>, all, vectors.moves());
}

template <Fabric F, Wire W>
Task late(Members<F, W>& all, Collective collective, const Work& work) {
  if (collective == Collective::reduce) return late_to(all, work, work.root);
  if (scatters_result(collective)) return late_in_parts(all, work);
  return late_to(all, work, coll::late::everyone);
}

}  // namespace tutti::coll::leaders
