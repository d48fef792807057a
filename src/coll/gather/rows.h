// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "coll/exchange/line.h"
#include "coll/gather/exchange.h"

namespace tutti::coll::gather {

template <Fabric F>
inline constexpr Row<F> rows[] = {
    {"line", "blocks ride in the flags", [](const Facts& x) { return fits_line(x.bytes); },
     exchange::line<F, exchange::Senders::others>},
    {"exchange", "everyone writes its block to the root's", [](const Facts&) { return true; },
     gather<F>},
};

}  // namespace tutti::coll::gather
