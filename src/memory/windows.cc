// SPDX-License-Identifier: BSD-3-Clause
#include "memory/windows.h"

#include <algorithm>
#include <utility>

#include "commons/commons.h"
#include "os/limits.h"

namespace tutti::memory {

void Windows::bound(const Bounds& bounds, Resident resident, Forget forget) {
  bounds_ = bounds;
  resident_ = std::move(resident);
  forget_ = std::move(forget);
  least_bytes_ = resident_().value_or(0);
}

// What has been used again and again is there once; so the kernel is asked how much has come.
void Windows::look() {
  const std::unique_lock lock(looking_, std::try_to_lock);
  if (!lock) return;  // another thread does
  paid_bytes_ += seen_bytes_.exchange(0, std::memory_order_relaxed);
  if (const auto now = resident_()) {
    least_bytes_ = std::min(least_bytes_, *now);
    const std::int64_t came = *now - least_bytes_;
    // More may come until the next look, and what comes back has to be paid for first.
    if (came + bounds_.most_bytes / 4 < bounds_.most_bytes || came > paid_bytes_) return;
  }
  forget_();
  paid_bytes_ = 0;
  least_bytes_ = resident_().value_or(0);
}

std::optional<std::int64_t> resident_of_peers() {
  const auto shared = os::resident_shared_bytes();
  if (!shared) return std::nullopt;
  return static_cast<std::int64_t>(*shared) - static_cast<std::int64_t>(commons::stats().in_file);
}

}  // namespace tutti::memory
