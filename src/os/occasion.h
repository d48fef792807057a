// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <time.h>

#include <atomic>
#include <cstdint>

namespace tutti::os {

// What is done once in a while, by whichever thread comes first. To ask costs a look at the clock.
class Occasion {
 public:
  explicit constexpr Occasion(std::int64_t every_ms) : every_ms_(every_ms) {}

  // True for one thread, if the last time is long enough ago.
  [[nodiscard]] bool has_come() {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
    const std::int64_t now_ms = time.tv_sec * 1000 + time.tv_nsec / 1'000'000;
    std::int64_t last_ms = last_ms_.load(std::memory_order_relaxed);
    return now_ms - last_ms >= every_ms_ &&
           last_ms_.compare_exchange_strong(last_ms, now_ms, std::memory_order_relaxed);
  }

 private:
  std::int64_t every_ms_;
  std::atomic<std::int64_t> last_ms_{0};
};

}  // namespace tutti::os
