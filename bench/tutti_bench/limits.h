// SPDX-License-Identifier: BSD-3-Clause
// The least work of each collective, one rank's share of it: Collective::limit.
#pragma once

#include "tutti_bench/collectives.h"

namespace tutti::bench::limits {

using P = const Problem&;
using S = const Slot&;
using reduce::Stores;

void barrier(P, S, Stores);
void bcast(P, S, Stores);
void reduce(P, S, Stores);  // and Reduce_scatter: the result is written once
void allreduce(P, S, Stores);
void gather(P, S, Stores);  // and Scatter: a block for every rank is moved once
void allgather(P, S, Stores);
void alltoall(P, S, Stores);
void scan(P, S, Stores);
void exscan(P, S, Stores);

}  // namespace tutti::bench::limits
