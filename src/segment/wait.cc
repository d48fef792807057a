// SPDX-License-Identifier: BSD-3-Clause
#include "segment/wait.h"

#include <sched.h>

#include <chrono>

namespace tutti::segment {

std::int64_t Courtesy::now_ns() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void give_core() { ::sched_yield(); }

Courtesy& courtesy() {
  thread_local Courtesy value;
  return value;
}

bool yield(const Patience& patience) {
  if (!patience.shares_core) return courtesy().yield();
  give_core();
  return true;
}

}  // namespace tutti::segment
