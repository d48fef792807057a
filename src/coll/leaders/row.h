// SPDX-License-Identifier: BSD-3-Clause
// Which algorithm a call over nodes takes. Each collective has a table of them (rows.h). The first
// one is taken that fits and pays. All members know alike what decides, so all take the same one.
#pragma once

#include <algorithm>
#include <span>

#include "coll/leaders/leaders.h"

namespace tutti::coll::leaders {

using Condition = bool (*)(const NodeMap&, const Way&, const Work&);
inline bool always(const NodeMap&, const Way&, const Work&) { return true; }

struct Choice {
  const char* name;
  const char* description;
  Condition fits;  // it can run the call, and no leader needs more memory than it may
  Condition pays;  // it is taken, unless one before it is
};

// The last row of a table fits every call, and is taken where no other one is.
template <Fabric F, Wire W>
struct Row : Choice {
  Task (*run)(Members<F, W>&, const Work&);
};

// `forced`: 1 + the place of the row that is taken wherever it fits; any other number names none.
template <Fabric F, Wire W>
[[nodiscard]] const Row<F, W>& choose(std::span<const Row<F, W>> rows, const NodeMap& map,
                                      const Way& way, const Work& work, std::size_t forced = 0) {
  const auto fits = [&](const Row<F, W>& row) { return row.fits(map, way, work); };
  if (forced - 1 < rows.size() && fits(rows[forced - 1])) return rows[forced - 1];
  const auto others = rows.first(rows.size() - 1);
  const auto taken = std::ranges::find_if(
      others, [&](const Row<F, W>& row) { return fits(row) && row.pays(map, way, work); });
  return taken == others.end() ? rows.back() : *taken;
}

}  // namespace tutti::coll::leaders
