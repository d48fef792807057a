// SPDX-License-Identifier: BSD-3-Clause
// Progress threads of ranks that follow each other on different free cores, in turn (Denis et al.
// 2019, equation 2): in a chain, what one rank hands on the next takes at the same time.
#pragma once

#include "progress/placements/spread.h"

namespace tutti::progress {

// The number of the free core. Equation 2 is where that core lies, if free cores are spread evenly:
// d (rank mod (cores - ranks)) + d - 1 with d = cores / (cores - ranks), rounded as in equation 1.
constexpr int odd_even_turn(int cores, int ranks, int rank) { return rank % (cores - ranks); }

constexpr int odd_even(int cores, int ranks, int rank) {
  return free_core(cores, cores - ranks, odd_even_turn(cores, ranks, rank));
}

}  // namespace tutti::progress
