// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "coll/gather/exchange.h"

namespace tutti::coll::gather {

template <Fabric F>
inline constexpr Row<F> rows[] = {
    {"exchange", "everyone writes its block to the root's", [](const Facts&) { return true; },
     gather<F>},
};

}  // namespace tutti::coll::gather
