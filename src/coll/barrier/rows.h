// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "coll/barrier/dissemination.h"
#include "coll/barrier/flat.h"

namespace tutti::coll::barrier {

template <Fabric F>
inline constexpr Row<F> rows[] = {
    {"flat", "everyone looks at everyone's flag", [](const Facts& x) { return x.ranks <= 8; },
     flat<F>},
    {"dissemination", "rounds of growing distance", [](const Facts&) { return true; },
     dissemination<F>},
};

}  // namespace tutti::coll::barrier
