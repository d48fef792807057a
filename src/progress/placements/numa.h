// SPDX-License-Identifier: BSD-3-Clause
// A progress thread on the nearest free core of its rank's NUMA domain (Denis et al. 2019, equation
// 1): ranks that follow each other share one, which suits trees.
#pragma once

#include "progress/placements/bind.h"
#include "progress/placements/spread.h"

namespace tutti::progress {

// For the rank on core `position` of a domain with so many cores and ranks. With
// d = cores / (cores - ranks), equation 1 is ceil((floor(position / d) + 1) d) - 1.
constexpr int numa(int cores, int ranks, int position) {
  const int free = cores - ranks;
  return free <= 0 ? bind(position) : free_core(cores, free, position * free / cores);
}

}  // namespace tutti::progress
