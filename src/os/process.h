// SPDX-License-Identifier: BSD-3-Clause
// What one process may do with another one of the same user: borrow a descriptor, copy memory,
// notice its end.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "base/status.h"

namespace tutti::os {

// A descriptor of this process for what `fd` is in process `pid`: by /proc/PID/fd, which Yama's
// ptrace_scope 1 allows, else by pidfd_getfd. -1 and errno when both are refused.
[[nodiscard]] int borrow_descriptor(pid_t pid, int fd);

// Copies between this process and `pid` through the kernel (process_vm_readv and _writev), looping
// over short transfers. Fails with EPERM where ptrace is denied and EFAULT where memory cannot be
// reached that way.
[[nodiscard]] Status read_memory(pid_t pid, void* to, std::uint64_t from, std::size_t bytes);
[[nodiscard]] Status write_memory(pid_t pid, std::uint64_t to, const void* from, std::size_t bytes);

// Whether `pid` has ended (a zombie has). False when that cannot be known.
[[nodiscard]] bool has_ended(pid_t pid);

// Whether `pid` has ended, or is another program by now (exec), when it is known that its `thread`
// has ended or called exec. Also while its only thread left is on its way out: a little before its
// parent is told. False when that cannot be known.
[[nodiscard]] bool has_gone(pid_t pid, pid_t thread);

}  // namespace tutti::os
