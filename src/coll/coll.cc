// SPDX-License-Identifier: BSD-3-Clause
#include "coll/coll.h"

namespace tutti::coll {
namespace {

constexpr const char* names[collective_count] = {
    "Barrier",  "Bcast",     "Reduce",    "Allreduce",      "Gather",
    "Gatherv",  "Scatter",   "Scatterv",  "Allgather",      "Allgatherv",
    "Alltoall", "Alltoallv", "Alltoallw", "Reduce_scatter", "Reduce_scatter_block",
    "Scan",     "Exscan"};

}  // namespace

const char* name_of(Collective collective) {
  const auto index = static_cast<std::size_t>(collective);
  return index < std::size(names) ? names[index] : "?";
}

bool is_rooted(Collective collective) {
  return collective == Collective::bcast || collective == Collective::reduce ||
         (collective >= Collective::gather && collective <= Collective::scatterv);
}

}  // namespace tutti::coll
