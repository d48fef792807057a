// SPDX-License-Identifier: BSD-3-Clause
#include "choice/costs.h"

#include <numbers>

#include "choice/limits.h"

namespace tutti::choice {

std::size_t least_direct_bytes(const Costs& costs) {
  constexpr std::size_t least = 2 * limits::kib, most = limits::shared_bytes;
  const double saved_ns = costs.slot_ns(1) - costs.copy_ns;  // for each KiB that is not packed
  if (saved_ns <= 0) return most;
  const double bytes = costs.flag_ns / saved_ns * 1024;
  std::size_t nearest = least;  // power of two
  while (nearest < most && bytes > std::numbers::sqrt2 * static_cast<double>(nearest)) nearest *= 2;
  return nearest;
}

}  // namespace tutti::choice
