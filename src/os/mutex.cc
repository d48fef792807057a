// SPDX-License-Identifier: BSD-3-Clause
#include "os/mutex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/arch.h"
#include "os/clock.h"

namespace tutti::os {
namespace {

constexpr std::int64_t second_ns = 1'000'000'000;

}  // namespace

bool Mutex::spin() {
  // Critical sections are some hundred instructions: on a machine with cores to spare the owner is
  // out before a system call would be in.
  for (int i = 0; i < 100; ++i) {
    if (state_.load(std::memory_order_relaxed) == open && try_lock()) return true;
    arch::relax();
  }
  return false;
}

void Mutex::lock_slowly() {
  if (spin()) return;
  // Pairs with the exchange in unlock().
  while (state_.exchange(wanted, std::memory_order_acquire) != open)
    ::syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, wanted, nullptr, nullptr, 0);
}

bool Mutex::lock_slowly_within(std::int64_t timeout_ns) {
  if (spin()) return true;
  const std::int64_t until = now_ns() + timeout_ns;
  for (;;) {
    // Also at the end: a thread that was woken and goes without the lock would leave the others
    // asleep.
    if (state_.exchange(wanted, std::memory_order_acquire) == open) return true;
    const std::int64_t left = until - now_ns();
    if (left <= 0) return false;
    const timespec timeout{left / second_ns, left % second_ns};
    ::syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, wanted, &timeout, nullptr, 0);
  }
}

void Mutex::wake_one() {
  ::syscall(SYS_futex, &state_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace tutti::os
