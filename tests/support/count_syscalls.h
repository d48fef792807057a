// SPDX-License-Identifier: BSD-3-Clause
// Counts what this program asks of the kernel by syscall(), which takes the place of the C
// library's.
// To be included by one file of a program.
#pragma once

#include <dlfcn.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>

namespace tutti::test {

inline std::atomic<int> g_fences{0};  // that interrupt others
inline std::atomic<int> g_naps{0};    // sleeps that were begun
inline std::atomic<int> g_wakes{0};   // calls, whether anybody slept or not

inline std::atomic<bool> g_has_futex_waitv{true};  // or it is refused, as by an old kernel

inline void count(long number, const std::uintptr_t (&arguments)[6]) {
  if (number == SYS_membarrier && arguments[0] == MEMBARRIER_CMD_GLOBAL_EXPEDITED) ++g_fences;
  if (number == SYS_futex_waitv && arguments[1] != 0) ++g_naps;
  if (number != SYS_futex) return;
  const auto command = static_cast<int>(arguments[1]) & FUTEX_CMD_MASK;
  if (command == FUTEX_WAIT) ++g_naps;
  if (command == FUTEX_WAKE) ++g_wakes;
}

}  // namespace tutti::test

// All arguments are words, in registers: those that the caller has not given are not looked at.
extern "C" long syscall(long number, ...) noexcept {
  using Syscall = long (*)(long, ...);
  static const auto next = reinterpret_cast<Syscall>(::dlsym(RTLD_NEXT, "syscall"));
  std::uintptr_t arguments[6];
  va_list list;
  va_start(list, number);
  for (std::uintptr_t& argument : arguments) argument = va_arg(list, std::uintptr_t);
  va_end(list);
  tutti::test::count(number, arguments);
  if (number == SYS_futex_waitv && !tutti::test::g_has_futex_waitv) {
    errno = ENOSYS;
    return -1;
  }
  return next(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
              arguments[5]);
}
