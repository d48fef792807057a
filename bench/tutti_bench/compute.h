// SPDX-License-Identifier: BSD-3-Clause
// Computation that a program overlaps with communication: no call of MPI, no memory, and the same
// time whenever it has a core to itself.
#pragma once

#include <cstdint>

#include "tutti_bench/page.h"

namespace tutti::bench {

void compute(std::uint64_t steps);

// What a step takes on a core that does nothing else, on the slowest of the ranks' cores.
// Collective.
[[nodiscard]] double step_ns(Page& page);

}  // namespace tutti::bench
