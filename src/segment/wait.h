// SPDX-License-Identifier: BSD-3-Clause
// Waiting for a word of shared memory to change: spin, then yield the core, then sleep.
//
// A wait is bounded in patience, not in time. The one who changes a word wakes sleepers, which
// costs it one load of a line that it normally owns; the one who goes to sleep pays for the fence
// of both (os::heavy_fence), because sleeping is rare and posting is not.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <span>

#include "os/futex.h"

namespace tutti::segment {

// How long to try what. The values that fit depend on whether each rank has a core of its own.
struct Patience {
  std::int64_t polls = 2000;
  std::int64_t yields = 200;
  bool asymmetric_fence = false;  // every member has enabled it
};

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

// After a store to `word`: wakes those that sleep on it. `sleepers` counts them.
inline void wake(const std::atomic<std::uint64_t>& word, const std::atomic<std::uint32_t>& sleepers,
                 const Patience& patience) {
  if (patience.asymmetric_fence)
    std::atomic_signal_fence(std::memory_order_seq_cst);  // pairs with heavy_fence() in sleep()
  else
    std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the fence in sleep()
  if (sleepers.load(std::memory_order_relaxed) != 0) [[unlikely]]
    os::futex_wake_all(reinterpret_cast<const std::atomic<std::uint32_t>&>(word));
}

// Sleeps until `word` is no longer `seen`, or `timeout_ns` have passed.
void sleep(const std::atomic<std::uint64_t>& word, std::atomic<std::uint32_t>& sleepers,
           std::uint64_t seen, const Patience& patience, std::int64_t timeout_ns);

// The same for several words, which may be of different desks.
struct Awaited {
  const std::atomic<std::uint64_t>* word;
  std::atomic<std::uint32_t>* sleepers;
  std::uint64_t seen;
};
// Also wakes when `bell` is no longer `bell_seen`.
void sleep_any(std::span<const Awaited> words, const std::atomic<std::uint32_t>& bell,
               std::uint32_t bell_seen, const Patience& patience, std::int64_t timeout_ns);

}  // namespace tutti::segment
