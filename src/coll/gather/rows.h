// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "coll/gather/exchange.h"
#include "coll/gather/line.h"

namespace tutti::coll::gather {

template <Fabric F>
inline constexpr Row<F> rows[] = {
    {"line", "blocks ride in the flags", [](const Facts& x) { return fits_line(x.bytes); },
     line<F>},
    {"exchange", "everyone writes its block to the root's", [](const Facts&) { return true; },
     gather<F>},
};

}  // namespace tutti::coll::gather
