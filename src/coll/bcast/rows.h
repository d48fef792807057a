// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "coll/bcast/direct.h"
#include "coll/bcast/line.h"

namespace tutti::coll::bcast {

// Below two chunks the root and a receiver cannot share the work. Then pieces are faster: the root
// fills one while the receivers empty another.
inline constexpr std::size_t shared_bytes = 2 * direct_bytes;

template <Fabric F>
inline constexpr Row<F> rows[] = {
    {"line", "the payload rides in the root's flag",
     [](const Facts& x) { return x.bytes <= segment::payload_bytes; }, line<F>},
    {"staged", "through the root's slots in the segment",
     [](const Facts& x) { return x.bytes < shared_bytes; }, staged<F>},
    {"direct", "between the users' buffers, the root helping", [](const Facts&) { return true; },
     direct<F>},
};

}  // namespace tutti::coll::bcast
