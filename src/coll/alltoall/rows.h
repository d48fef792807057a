// SPDX-License-Identifier: BSD-3-Clause
// Alltoall, Alltoallv and Alltoallw.
#pragma once

#include "coll/exchange/everybody.h"

namespace tutti::coll::alltoall {

template <Fabric F>
inline constexpr Row<F> rows[] = {
    {"exchange", "everyone reads its block of everyone's", [](const Facts&) { return true; },
     exchange::everybody<F>},
};

}  // namespace tutti::coll::alltoall
