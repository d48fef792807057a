// SPDX-License-Identifier: BSD-3-Clause
#include "os/mutex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tutti::os {

void Mutex::lock_slowly() {
  // Critical sections are some hundred instructions: on a machine with cores to spare the owner is
  // out before a system call would be in.
  for (int i = 0; i < 100; ++i) {
    if (state_.load(std::memory_order_relaxed) == open && try_lock()) return;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  // Pairs with the exchange in unlock().
  while (state_.exchange(wanted, std::memory_order_acquire) != open)
    ::syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, wanted, nullptr, nullptr, 0);
}

void Mutex::wake_one() {
  ::syscall(SYS_futex, &state_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace tutti::os
