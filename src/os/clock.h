// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <time.h>

#include <cstdint>

namespace tutti::os {

// Of a clock that only goes forward, the same one for all processes of the host.
[[nodiscard]] inline std::int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace tutti::os
