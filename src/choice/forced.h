// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/collective.h"

namespace tutti::choice {

// The algorithms that are forced, one a collective, as ranks tell each other: 1 + the place among
// all that it has on a node (coll::all_algorithms), or between nodes (coll/leaders/rows.h), or 0.
// The MPI is asked for by this name, and is no place.
using Forced = std::array<std::uint8_t, collective_count>;
inline constexpr std::string_view the_mpi = "mpi";
inline constexpr std::uint8_t forced_mpi = 255;
// Two such: what either says, and where both do what `first` says. But the MPI comes before
// algorithms.
[[nodiscard]] constexpr Forced merge(Forced first, const Forced& second) {
  for (std::size_t i = 0; i < first.size(); ++i)
    if (first[i] == 0 || second[i] == forced_mpi) first[i] = second[i];
  return first;
}

// Which collectives are the MPI's.
[[nodiscard]] constexpr Collectives left_to_the_mpi(const Forced& forced) {
  Collectives left = 0;
  for (std::size_t i = 0; i < forced.size(); ++i)
    if (forced[i] == forced_mpi) left |= bit_of(static_cast<Collective>(i));
  return left;
}

}  // namespace tutti::choice
