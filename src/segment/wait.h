// SPDX-License-Identifier: BSD-3-Clause
// Waiting for a word of shared memory to change: spin, then yield the core, then sleep
// (segment/sleeper.h).
//
// A wait is bounded in patience, not in time. A thread that changes a word wakes the sleepers. That
// costs it one load of a line that it normally owns. A thread that goes to sleep pays for the fence
// of both (os::heavy_fence), once a wait, because sleeping is rare and posting is not.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "os/clock.h"
#include "os/futex.h"

namespace tutti::segment {

// How often to poll and to yield before a wait sleeps. Which values fit depends on whether each
// rank has a core of its own.
struct WaitPolicy {
  std::int64_t polls = 2000;
  std::int64_t yields = 10'000;
  bool asymmetric_fence = false;  // every member has enabled it; the same on all
  bool shares_core = false;       // with other ranks of the job
};

void give_core();  // sched_yield

// A rank with a core of its own yields it in a wait, as long as the core comes back soon. A thread
// that waits too gives it back at once. One that computes (another job, a compiler) gives it back
// only when its time slice is over. A rank that sleeps instead has the core back as soon as it is
// woken. So a yield that took long is followed by a number of waits without any, twice as many each
// time.
class YieldBackoff {
 public:
  using Clock = std::int64_t (*)();  // in nanoseconds
  using Yield = void (*)();

  // False: sleep instead, and do not ask again in this wait.
  [[nodiscard]] bool yield() { return yield(os::now_ns, give_core); }
  [[nodiscard]] bool yield(Clock now, Yield give) {
    if (refusals_ > 0) {
      --refusals_;
      return false;
    }
    const std::int64_t begin = now();
    give();
    if (now() - begin < late_ns) {
      if (++soon_ % forgiving == 0) next_ = std::max(first, next_ / 2);
      return true;
    }
    refusals_ = next_;
    next_ = std::min(2 * next_, most);
    return false;
  }
  [[nodiscard]] bool refuses() const { return refusals_ > 0; }

  static constexpr std::int64_t late_ns = 500'000;
  static constexpr int first = 16, most = 1024;  // waits without a yield
  static constexpr int forgiving = 64;           // yields that come back soon count as much

 private:
  int refusals_ = 0;
  int next_ = first;
  unsigned soon_ = 0;
};
// That of this thread.
[[nodiscard]] YieldBackoff& yield_backoff();

// Yields the core in a wait. False: sleep instead. Ranks that share cores always yield. The one
// that computes there is a rank of the job, most likely the one that is waited for. And the
// scheduler moves threads that sleep and wake, while ranks that stay runnable stay spread over the
// cores.
[[nodiscard]] bool yield(const WaitPolicy& wait_policy);

// After a store to `word`: wakes those that sleep on it. `sleepers` counts them.
inline void wake(const std::atomic<std::uint64_t>& word, const std::atomic<std::uint32_t>& sleepers,
                 const WaitPolicy& wait_policy) {
  if (wait_policy.asymmetric_fence)
    std::atomic_signal_fence(std::memory_order_seq_cst);  // pairs with heavy_fence() in Sleeper
  else
    std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the fence in Sleeper
  if (sleepers.load(std::memory_order_relaxed) != 0) [[unlikely]]
    os::futex_wake_all(reinterpret_cast<const std::atomic<std::uint32_t>&>(word));
}

}  // namespace tutti::segment
