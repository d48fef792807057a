// SPDX-License-Identifier: BSD-3-Clause
#include "segment/wait.h"

#include <sched.h>

namespace tutti::segment {

void give_core() { ::sched_yield(); }

YieldBackoff& yield_backoff() {
  thread_local YieldBackoff value;
  return value;
}

bool yield(const WaitPolicy& wait_policy) {
  if (!wait_policy.shares_core) return yield_backoff().yield();
  give_core();
  return true;
}

}  // namespace tutti::segment
