// SPDX-License-Identifier: BSD-3-Clause
// The table of each collective for members on several nodes.
#pragma once

#include <string_view>

#include "base/options.h"
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
constexpr std::span<const Row<F, W>> rows_of(Collective collective) {
  switch (collective) {
    case Collective::barrier:
      return barrier_rows<F, W>;
    case Collective::bcast:
      return bcast_rows<F, W>;
    case Collective::reduce:
      return reduce_rows<F, W>;
    case Collective::allreduce:
      return allreduce_rows<F, W>;
    case Collective::gather:
      return gather_rows<F, W>;
    case Collective::gatherv:
      return gatherv_rows<F, W>;
    case Collective::scatter:
      return scatter_rows<F, W>;
    case Collective::scatterv:
      return scatterv_rows<F, W>;
    case Collective::allgather:
    case Collective::allgatherv:
      return allgather_rows<F, W>;
    case Collective::alltoall:
      return alltoall_rows<F, W>;
    case Collective::alltoallv:
      return alltoallv_rows<F, W, Collective::alltoallv>;
    case Collective::alltoallw:
      return alltoallv_rows<F, W, Collective::alltoallw>;
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_block:
      return reduce_scatter_rows<F, W>;
    case Collective::scan:
      return scan_rows<F, W, scan::Kind::inclusive>;
    case Collective::exscan:
      return scan_rows<F, W, scan::Kind::exclusive>;
  }
  return {};
}

// The row of that name, or the MPI, as Way::forced has it; 0: there is none.
template <Fabric F, Wire W>
[[nodiscard]] std::uint8_t forced_row(Collective collective, std::string_view name) {
  if (name == choice::the_mpi) return choice::forced_mpi;
  const auto rows = rows_of<F, W>(collective);
  const auto found =
      std::ranges::find_if(rows, [&](const Row<F, W>& row) { return row.name == name; });
  return static_cast<std::uint8_t>(found == rows.end() ? 0 : 1 + (found - rows.begin()));
}

// What options say; the rest as usual.
template <Fabric F, Wire W>
[[nodiscard]] Way way_of_options() {
  Way way{.leaders = static_cast<int>(std::clamp<std::int64_t>(options().leaders, 1, 64)),
          .packed_bytes = options().packed};
  for (std::size_t i = 0; i < way.forced.size(); ++i) {
    const auto collective = static_cast<Collective>(i);
    way.forced[i] = forced_row<F, W>(collective, choice::wanted(collective));
  }
  return way;
}

template <Fabric F, Wire W>
[[nodiscard]] const Row<F, W>& row_of(Collective collective, const NodeMap& map, const Way& way,
                                      const Work& work) {
  return choose(rows_of<F, W>(collective), map, way, work,
                way.forced[static_cast<std::size_t>(collective)]);
}

template <Fabric F, Wire W>
Task run(Members<F, W>& all, Collective collective, const Work& work) {
  if (work.operands != nullptr) return late(all, collective, work);
  return row_of<F, W>(collective, all.map, all.way, work).run(all, work);
}

// Whether it serves this call; all members know that alike. Late reductions gather all operands,
// and meetings.h knows the order of most_members. Of the others only scans keep the order of the
// ranks, where those of each node follow each other. Where members have blocks for each other, a
// stage on a node may list those of all its members.
[[nodiscard]] inline bool serves(const NodeMap& map, Collective collective, const Work& work) {
  if (map.largest() > limits::most_listed_ranks &&
      (has_blocks(collective) || work.operands != nullptr))
    return false;
  if (work.operands != nullptr)
    return static_cast<std::size_t>(map.size()) <= segment::most_members &&
           work.bytes() <= limits::most_late_bytes / static_cast<std::size_t>(map.size());
  return is_scan(collective) ? map.in_order() : work.commutes;
}

}  // namespace tutti::coll::leaders
