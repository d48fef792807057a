// SPDX-License-Identifier: BSD-3-Clause
// Scan and Exscan.
#pragma once

#include "coll/reduce/costs.h"
#include "coll/scan/direct.h"

namespace tutti::coll::scan {

// The last member reads all operands, as where a Reduce is whole. The members before read fewer,
// which counts where they share its core.
inline double staged_ns(const Facts& x, const Costs& c) {
  const auto bytes = static_cast<double>(x.bytes);
  const double copies = (x.ranks - 2) * (1 + 1 / c.sharers) / 2;
  return choice::posts_ns(c, x.ranks - 1, 0) + choice::slots_ns(c, bytes, x.ranks - 1) +
         choice::copies_ns(c, bytes * copies);
}

template <Fabric F, Kind kind>
inline constexpr Row<F> rows[] = {
    {{"line", "operands ride in the flags", Needs::line, reduction::line_ns}, line<F, kind>},
    {{"staged", "through slots in the segment", Needs::nothing, staged_ns}, staged<F, kind>},
    {{"direct", "all prefixes of a slice by one member", Needs::nothing,
      reduction::direct_ns<reduction::everyone, staged_ns>},
     direct<F, kind>},
};

}  // namespace tutti::coll::scan
