// SPDX-License-Identifier: BSD-3-Clause
#include "tutti_bench/compute.h"

#include <algorithm>

namespace tutti::bench {

void compute(std::uint64_t steps) {
  std::uint64_t x = steps;
  for (; steps != 0; --steps) {
    x = x * 0x5851f42d4c957f2d + 0x14057b7ef767814f;
    asm volatile("" : "+r"(x));  // each step waits for the one before, and none can be left out
  }
}

double step_ns(Page& page) {
  // Some tenths of a millisecond: where ranks share a core, the scheduler lets each finish one.
  constexpr std::uint64_t steps = 200'000;
  std::int64_t best = 0;
  for (int i = 0; i < 7; ++i) {
    page.barrier();
    const std::int64_t start = now_ns();
    compute(steps);
    const std::int64_t took = now_ns() - start;
    best = i == 0 ? took : std::min(best, took);
  }
  return static_cast<double>(std::max<std::int64_t>(page.max(best), 1)) / steps;
}

}  // namespace tutti::bench
