// SPDX-License-Identifier: BSD-3-Clause
// Late reductions have rows of their own, in place of those of coll/tables.h.
#pragma once

#include "coll/allreduce/rows.h"
#include "coll/late/line.h"
#include "coll/reduce/rows.h"
#include "coll/reduce_scatter/rows.h"
#include "coll/scan/rows.h"

namespace tutti::coll {
namespace late {

inline constexpr int the_root = 0;  // as `whom`: the root of the call

template <Fabric F, int whom>
Task gather_for(F& f, const Work& work) {
  return gathered(f, work, whom < 0 ? whom : work.root);
}
template <Fabric F, int whom>
Task line_for(F& f, const Work& work) {
  return line_to(f, work, whom < 0 ? whom : work.root);
}

// Everyone who wants the result reads all operands, and folds them later.
inline double gathered_ns(const Facts& x, const Costs& c) {
  return reduction::whole_ns(x, c, reduction::everyone);
}

template <Fabric F, Task (*line)(F&, const Work&), Task (*gather)(F&, const Work&),
          Task (*direct)(F&, const Work&)>
inline constexpr Row<F> rows[] = {
    {{"line", "operands ride in the flags, and are folded when that is over", Needs::line,
      reduction::line_ns},
     line},
    {{"gathered", "operands are gathered, and folded when that is over", Needs::nothing,
      gathered_ns},
     gather},
    {{"direct", "operands read in place, a slice a member, by who may", Needs::nothing,
      reduction::direct_ns<reduction::everyone, gathered_ns>},
     direct},
};

}  // namespace late

// Collectives that compute nothing have none.
template <Fabric F>
constexpr std::span<const Row<F>> late_rows_of(Collective collective) {
  switch (collective) {
    case Collective::reduce:
      return late::rows<F, late::line_for<F, late::the_root>, late::gather_for<F, late::the_root>,
                        reduction::direct<F>>;
    case Collective::allreduce:
      return late::rows<F, late::line_for<F, late::everyone>, late::gather_for<F, late::everyone>,
                        allreduce::direct<F>>;
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_block:
      return late::rows<F, late::line_for<F, late::each_owner>,
                        late::gather_for<F, late::each_owner>, reduce_scatter::direct<F>>;
    case Collective::scan:
      return late::rows<F, late::line_of_scan<F, scan::Kind::inclusive>,
                        late::gather_for<F, late::everyone>,
                        scan::direct<F, scan::Kind::inclusive>>;
    case Collective::exscan:
      return late::rows<F, late::line_of_scan<F, scan::Kind::exclusive>,
                        late::gather_for<F, late::everyone>,
                        scan::direct<F, scan::Kind::exclusive>>;
    default:
      return {};
  }
}

}  // namespace tutti::coll
