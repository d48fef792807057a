// SPDX-License-Identifier: BSD-3-Clause
// Scan and Exscan.
#pragma once

#include "coll/reduce/costs.h"
#include "coll/scan/direct.h"

namespace tutti::coll::scan {

template <Fabric F, Kind kind>
inline constexpr Row<F> rows[] = {
    {{"line", "operands ride in the flags", Needs::line, reduction::line_ns}, line<F, kind>},
    {{"staged", "through slots in the segment", Needs::nothing, reduction::staged_ns},
     staged<F, kind>},
    {{"direct", "all prefixes of a slice by one member", Needs::nothing, reduction::direct_ns},
     direct<F, kind>},
};

}  // namespace tutti::coll::scan
