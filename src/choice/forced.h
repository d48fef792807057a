// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>

#include "base/collective.h"

namespace tutti::choice {

// The algorithms that are forced, one a collective, as ranks tell each other: 1 + the place among
// all that it has on a node (coll::all_algorithms), or between nodes (coll/leaders/rows.h), or 0.
using Forced = std::array<std::uint8_t, collective_count>;
// Two such: what either says, and where both do what `first` says.
[[nodiscard]] constexpr Forced merge(Forced first, const Forced& second) {
  for (std::size_t i = 0; i < first.size(); ++i)
    if (first[i] == 0) first[i] = second[i];
  return first;
}

}  // namespace tutti::choice
