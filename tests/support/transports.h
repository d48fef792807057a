// SPDX-License-Identifier: BSD-3-Clause
// In which ways simulated buffers may be reached.
#pragma once

#include <random>

#include "memory/transport.h"

namespace tutti::test {

inline memory::TransportSet draw_transports(std::mt19937_64& random) {
  const auto bits = random() % (1U << std::size(memory::every_transport));
  if (bits == 0) return memory::TransportSet::all();  // each buffer another way
  memory::TransportSet found;
  for (const memory::Transport transport : memory::every_transport)
    if ((bits >> static_cast<int>(transport) & 1) != 0) found.add(transport);
  return found;
}

}  // namespace tutti::test
