// SPDX-License-Identifier: BSD-3-Clause
// Allgather and Allgatherv.
#pragma once

#include "coll/exchange/everybody.h"
#include "coll/exchange/line.h"

namespace tutti::coll::allgather {

template <Fabric F>
inline constexpr Row<F> rows[] = {
    {"line", "blocks ride in the flags", [](const Facts& x) { return fits_line(x.bytes); },
     exchange::line<F, exchange::Senders::everyone>},
    {"exchange", "everyone reads everyone's block", [](const Facts&) { return true; },
     exchange::everybody<F>},
};

}  // namespace tutti::coll::allgather
