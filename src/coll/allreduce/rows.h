// SPDX-License-Identifier: BSD-3-Clause
// Allreduce shares its algorithms with Reduce. "The root" there is everyone.
#pragma once

#include "coll/reduce/costs.h"
#include "coll/reduce/direct.h"
#include "coll/reduce/line.h"

namespace tutti::coll::allreduce {

template <Fabric F>
Task line(F& f, const Work& work) {
  return reduction::line_to(f, work, reduction::everyone);
}

template <Fabric F>
Task staged(F& f, const Work& work) {
  return reduction::staged_to(f, work, reduction::everyone);
}

template <Fabric F>
Task direct(F& f, const Work& work) {
  return reduction::direct_to(f, work, reduction::everyone);
}

template <Fabric F>
inline constexpr Row<F> rows[] = {
    {{"line", "payloads ride in the flags, everyone folds", Needs::line, reduction::line_ns},
     line<F>},
    {{"staged", "through slots in the segment", Needs::nothing,
      reduction::staged_ns<reduction::everyone>},
     staged<F>},
    {{"direct", "operands read in place, a slice a member", Needs::nothing,
      reduction::direct_ns<reduction::everyone, reduction::staged_ns<reduction::everyone>>},
     direct<F>},
};

}  // namespace tutti::coll::allreduce
