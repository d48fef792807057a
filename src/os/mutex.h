// SPDX-License-Identifier: BSD-3-Clause
// A mutex of one word for the threads of one process. It needs no constructor, touches no heap, and
// can be taken from inside malloc; after a fork the child may simply reset it.
#pragma once

#include <atomic>
#include <cstdint>

namespace tutti::os {

class Mutex {
 public:
  [[nodiscard]] bool try_lock() {
    std::uint32_t expected = open;
    return state_.compare_exchange_strong(expected, taken, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }
  void lock() {
    if (!try_lock()) lock_slowly();
  }
  // False: it was not to be had for so long.
  [[nodiscard]] bool lock_within(std::int64_t timeout_ns) {
    return try_lock() || (timeout_ns > 0 && lock_slowly_within(timeout_ns));
  }
  void unlock() {
    // Pairs with the acquiring exchanges of the next owner.
    if (state_.exchange(open, std::memory_order_release) == wanted) wake_one();
  }
  // In a forked child, where the threads that held or wanted the lock do not exist.
  void reset() { state_.store(open, std::memory_order_release); }

 private:
  // The states of U. Drepper, "Futexes are tricky", mutex 2.
  enum : std::uint32_t { open, taken, wanted };

  [[nodiscard]] bool spin();
  void lock_slowly();
  [[nodiscard]] bool lock_slowly_within(std::int64_t timeout_ns);
  void wake_one();

  std::atomic<std::uint32_t> state_{open};
};

}  // namespace tutti::os
