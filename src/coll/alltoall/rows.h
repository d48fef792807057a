// SPDX-License-Identifier: BSD-3-Clause
// Alltoall, Alltoallv and Alltoallw.
#pragma once

#include "coll/exchange/costs.h"
#include "coll/exchange/everybody.h"
#include "coll/exchange/line.h"

namespace tutti::coll::alltoall {

template <Fabric F>
inline constexpr Row<F> rows[] = {
    {{"line", "all blocks of a sender ride in its flag", Needs::line_of_others,
      exchange::line_of_others_ns},
     exchange::line<F, exchange::Senders::everyone>},
    {{"exchange", "everyone reads its block of everyone's", Needs::nothing,
      exchange::exchange_of_all_ns},
     exchange::everybody<F>},
};

}  // namespace tutti::coll::alltoall
