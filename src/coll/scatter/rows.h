// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "coll/scatter/exchange.h"

namespace tutti::coll::scatter {

template <Fabric F>
inline constexpr Row<F> rows[] = {
    {"exchange", "everyone reads its block of the root's", [](const Facts&) { return true; },
     scatter<F>},
};

}  // namespace tutti::coll::scatter
