// SPDX-License-Identifier: BSD-3-Clause
// Progress threads of ranks that follow each other on different free cores, in turn (Denis et al.
// 2019, equation 2): in a chain, what one rank hands on the next takes at the same time.
#pragma once

#include "progress/placements/spread.h"

namespace tutti::progress {

// Which of the free cores. Equation 2 then is its core where these are spread evenly, with
// d = cores / (cores - ranks): d (rank mod (cores - ranks)) + d - 1, rounded as in equation 1.
constexpr int odd_even_turn(int cores, int ranks, int rank) { return rank % (cores - ranks); }

constexpr int odd_even(int cores, int ranks, int rank) {
  return free_core(cores, cores - ranks, odd_even_turn(cores, ranks, rank));
}

}  // namespace tutti::progress
