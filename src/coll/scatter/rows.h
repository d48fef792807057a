// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "coll/exchange/costs.h"
#include "coll/exchange/line.h"
#include "coll/scatter/exchange.h"

namespace tutti::coll::scatter {

template <Fabric F>
inline constexpr Row<F> rows[] = {
    {{"line", "all blocks ride in the root's flag", Needs::line_of_others,
      exchange::line_of_others_ns},
     exchange::line<F, exchange::Senders::root>},
    {{"exchange", "everyone reads its block of the root's", Needs::nothing,
      exchange::exchange_of_all_ns},
     scatter<F>},
};

}  // namespace tutti::coll::scatter
