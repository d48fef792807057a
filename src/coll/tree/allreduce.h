// SPDX-License-Identifier: BSD-3-Clause
// Allreduce as Reduce to rank 0 and Bcast from there, both split between executors. The ranks do
// the lowest levels of Reduce in the call, and those of Bcast in the wait. All members get the same
// bits. Cost: that of both.
#pragma once

#include "coll/tree/bcast.h"
#include "coll/tree/reduce.h"

namespace tutti::coll::tree {

template <Fabric F>
Task allreduce(F& f, const Work& work) {
  Work half = work;
  half.root = 0;
  co_await reduce(f, half);
  co_await bcast(f, half);
}

}  // namespace tutti::coll::tree
