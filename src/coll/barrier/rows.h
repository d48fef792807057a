// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "coll/barrier/dissemination.h"
#include "coll/barrier/flat.h"

namespace tutti::coll::barrier {

template <Fabric F>
inline constexpr Row<F> rows[] = {
    {{"flat", "everyone looks at everyone's flag", Needs::nothing,
      [](const Facts& x, const Costs& c) { return choice::posts_ns(c, x.ranks - 1, 0); }},
     flat<F>},
    {{"dissemination", "rounds of growing distance", Needs::nothing,
      [](const Facts& x, const Costs& c) { return choice::rounds_ns(c, x.ranks); }},
     dissemination<F>},
};

}  // namespace tutti::coll::barrier
