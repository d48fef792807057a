// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "coll/exchange/costs.h"
#include "coll/exchange/line.h"
#include "coll/gather/exchange.h"

namespace tutti::coll::gather {

template <Fabric F>
inline constexpr Row<F> rows[] = {
    {{"line", "blocks ride in the flags", Needs::known_line, exchange::line_ns},
     exchange::line<F, exchange::Senders::others>},
    {{"exchange", "everyone writes its block to the root's", Needs::nothing,
      exchange::exchange_of_one_ns},
     gather<F>},
};

}  // namespace tutti::coll::gather
