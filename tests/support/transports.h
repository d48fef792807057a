// SPDX-License-Identifier: BSD-3-Clause
// In which ways simulated buffers may be reached.
#pragma once

#include <random>

#include "lab/sim.h"

namespace tutti::test {

inline lab::SimTransports draw_transports(std::mt19937_64& random) {
  const auto bits = random() % 8;
  if (bits == 0) return {};  // each buffer another way
  return {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0};
}

}  // namespace tutti::test
