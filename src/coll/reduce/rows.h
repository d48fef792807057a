// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "coll/reduce/direct.h"
#include "coll/reduce/line.h"

namespace tutti::coll::reduction {

template <Fabric F>
inline constexpr Row<F> rows[] = {
    {"line", "payloads ride in the flags, the root folds",
     [](const Facts& x) { return x.bytes <= segment::payload_bytes; }, line<F>},
    {"staged", "through slots in the segment",
     [](const Facts& x) { return x.bytes < direct_bytes; }, staged<F>},
    {"direct", "operands read in place, a slice a member", [](const Facts&) { return true; },
     direct<F>},
};

}  // namespace tutti::coll::reduction
