// SPDX-License-Identifier: BSD-3-Clause
// Reduce_scatter and Reduce_scatter_block share their algorithms with Reduce, but for small
// vectors. "The root" of a part there is its owner.
#pragma once

#include "coll/reduce/costs.h"
#include "coll/reduce/direct.h"
#include "coll/reduce_scatter/line.h"

namespace tutti::coll::reduce_scatter {

template <Fabric F>
Task staged(F& f, const Work& work) {
  return reduction::staged_parts(f, work);
}

template <Fabric F>
Task direct(F& f, const Work& work) {
  return reduction::direct_to(f, work, reduction::each_owner);
}

template <Fabric F>
inline constexpr Row<F> rows[] = {
    {{"line", "vectors ride in the flags, everyone folds its part", Needs::line,
      reduction::line_ns},
     line<F>},
    {{"staged", "through slots in the segment", Needs::nothing,
      reduction::staged_ns<reduction::each_owner>},
     staged<F>},
    {{"direct", "operands read in place, a part a member", Needs::nothing,
      reduction::direct_ns<reduction::each_owner, reduction::staged_ns<reduction::each_owner>>},
     direct<F>},
};

}  // namespace tutti::coll::reduce_scatter
