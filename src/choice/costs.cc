// SPDX-License-Identifier: BSD-3-Clause
#include "choice/costs.h"

#include <numbers>

#include "choice/limits.h"

namespace tutti::choice {

std::size_t least_direct_bytes(const Costs& costs) {
  constexpr std::size_t least = 2 * limits::kib;
  // A turn is worth more bytes. But slots of many more leave no room for anything else in the
  // core's caches: packed blocks of 16 KiB make an Allgather take 0.7 to 1.4 times as long.
  const std::size_t most = costs.shares_cores() ? 2 * limits::shared_bytes : limits::shared_bytes;
  const double saved_ns = costs.slot_ns(1) - costs.copy_ns;  // for each KiB that is not packed
  if (saved_ns <= 0) return most;
  const double bytes = costs.step_ns() / saved_ns * 1024;
  std::size_t nearest = least;  // power of two
  while (nearest < most && bytes > std::numbers::sqrt2 * static_cast<double>(nearest)) nearest *= 2;
  return nearest;
}

}  // namespace tutti::choice
