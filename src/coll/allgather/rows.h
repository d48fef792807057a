// SPDX-License-Identifier: BSD-3-Clause
// Allgather and Allgatherv.
#pragma once

#include "coll/exchange/costs.h"
#include "coll/exchange/everybody.h"
#include "coll/exchange/line.h"

namespace tutti::coll::allgather {

template <Fabric F>
inline constexpr Row<F> rows[] = {
    {{"line", "blocks ride in the flags", Needs::known_line, exchange::line_ns},
     exchange::line<F, exchange::Senders::everyone>},
    {{"exchange", "everyone reads everyone's block", Needs::nothing, exchange::exchange_of_one_ns},
     exchange::everybody<F>},
};

}  // namespace tutti::coll::allgather
