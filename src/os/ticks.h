// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace tutti::os {

// The processor's own clock: cheap, steady, of no particular unit; only to compare durations.
inline std::uint64_t ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t value;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#endif
}

}  // namespace tutti::os
