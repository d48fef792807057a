// SPDX-License-Identifier: BSD-3-Clause
// progress: who makes nonblocking collectives progress. This file says on which cores of a chip
// ranks and progress threads go. Cores have the chip's own numbers; the operating system is not
// asked.
//
// Of the chip's cores some are kept for communication; they are spread evenly inside each NUMA
// domain, and the ranks take the others in order (Denis et al. 2019, section 4).
#pragma once

#include <vector>

#include "progress/placements/bind.h"
#include "progress/placements/numa.h"
#include "progress/placements/odd_even.h"

namespace tutti::progress {

// `cores` is a multiple of `domains`; cores of a domain are numbered one after the other.
struct Chip {
  int cores = 1;
  int domains = 1;

  [[nodiscard]] constexpr int domain_cores() const { return cores / domains; }
};

struct CoreLayout {
  Chip chip;
  std::vector<int> application;    // by rank
  std::vector<int> communication;  // ascending
};

// All domains get equally many communication cores, or the later ones get one more.
inline CoreLayout lay_out(const Chip& chip, int communication_cores) {
  CoreLayout layout{chip, {}, {}};
  const int cores = chip.domain_cores();
  for (int domain = 0; domain < chip.domains; ++domain) {
    const int free = communication_cores * (domain + 1) / chip.domains -
                     communication_cores * domain / chip.domains;
    for (int core = 0, number = 0; core < cores; ++core) {
      const bool is_free = number < free && core == free_core(cores, free, number);
      number += is_free ? 1 : 0;
      (is_free ? layout.communication : layout.application).push_back(domain * cores + core);
    }
  }
  return layout;
}

enum class Placement { bind, numa, odd_even };

// The core of a rank's progress thread.
inline int place(Placement placement, const CoreLayout& layout, int rank) {
  const int mine = layout.application[static_cast<std::size_t>(rank)];
  if (placement == Placement::numa) {
    const int cores = layout.chip.domain_cores();
    const int domain = mine / cores;
    int ranks = 0;
    for (const int core : layout.application) ranks += core / cores == domain ? 1 : 0;
    return domain * cores + numa(cores, ranks, mine % cores);
  }
  if (placement == Placement::odd_even && !layout.communication.empty()) {
    // This is equation 2 where all domains have equally many.
    const int turn =
        odd_even_turn(layout.chip.cores, static_cast<int>(layout.application.size()), rank);
    return layout.communication[static_cast<std::size_t>(turn)];
  }
  return bind(mine);
}

}  // namespace tutti::progress
