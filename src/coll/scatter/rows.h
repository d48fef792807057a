// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "coll/scatter/exchange.h"
#include "coll/scatter/line.h"

namespace tutti::coll::scatter {

template <Fabric F>
inline constexpr Row<F> rows[] = {
    {"line", "all blocks ride in the root's flag",
     [](const Facts& x) { return fits_line(x.bytes * static_cast<std::size_t>(x.ranks)); },
     line<F>},
    {"exchange", "everyone reads its block of the root's", [](const Facts&) { return true; },
     scatter<F>},
};

}  // namespace tutti::coll::scatter
