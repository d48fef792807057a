// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "coll/reduce/costs.h"
#include "coll/reduce/direct.h"
#include "coll/reduce/line.h"

namespace tutti::coll::reduction {

template <Fabric F>
inline constexpr Row<F> rows[] = {
    {{"line", "payloads ride in the flags, the root folds", Needs::line, line_ns}, line<F>},
    {{"staged", "through slots in the segment", Needs::nothing, staged_ns<0>}, staged<F>},
    {{"direct", "operands read in place, a slice a member", Needs::nothing,
      direct_ns<0, staged_ns<0>>},
     direct<F>},
};

}  // namespace tutti::coll::reduction
