// SPDX-License-Identifier: BSD-3-Clause
// The messages of a call whose ranks know nothing of nodes, and each send their own: what the
// summary says beside the messages that were sent. Not those of the MPI at hand, which may choose
// otherwise, but of the algorithms that MPIs have for any cluster (Thakur, Rabenseifner and Gropp
// 2005), by their usual limits:
//   Barrier                         rounds, to the rank 2^k further on
//   Bcast, Reduce, Gather, Scatter  along a binomial tree
//   Gatherv, Scatterv               one for each rank but the root
//   Allreduce                       recursive doubling; from 2 KiB on halving, then doubling
//   Reduce_scatter(_block)          recursive halving
//   Allgather(v)                    rounds (Bruck); from 80 KiB in all on along a ring
//   Alltoall(v, w)                  one from each rank to each other
//   Scan, Exscan                    rounds, to the rank 2^k further on
// A message counts as one, however long. Of vectors of different lengths the rounds of an
// Allgatherv and the halves of a Reduce_scatter have the mean.
#pragma once

#include "coll/work.h"
#include "fabric/messages.h"
#include "fabric/node_map.h"

namespace tutti::engine {

// Those that this rank would send to ranks of other nodes. Takes O(log ranks), and O(ranks) in
// calls that list blocks.
[[nodiscard]] fabric::Sent sent_without_leaders(coll::Collective collective, const coll::Work& work,
                                                const fabric::NodeMap& map);

}  // namespace tutti::engine
