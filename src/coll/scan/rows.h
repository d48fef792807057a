// SPDX-License-Identifier: BSD-3-Clause
// Scan and Exscan.
#pragma once

#include "coll/scan/direct.h"

namespace tutti::coll::scan {

template <Fabric F, Kind kind>
inline constexpr Row<F> rows[] = {
    {"line", "operands ride in the flags",
     [](const Facts& x) { return x.bytes <= segment::payload_bytes; }, line<F, kind>},
    {"staged", "through slots in the segment",
     [](const Facts& x) { return x.bytes < direct_bytes; }, staged<F, kind>},
    {"direct", "all prefixes of a slice by one member", [](const Facts&) { return true; },
     direct<F, kind>},
};

}  // namespace tutti::coll::scan
