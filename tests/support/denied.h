// SPDX-License-Identifier: BSD-3-Clause
// What sandboxes, Yama and containers do to a process, done by the process to itself.
#pragma once

#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "support/fork_ranks.h"

namespace tutti::test {

// From here on these system calls fail with `error`, by a filter of the kernel's.
inline void deny(std::initializer_list<long> calls, int error) {
  std::vector<sock_filter> program;
  program.push_back({BPF_LD | BPF_W | BPF_ABS, 0, 0, 0});  // the number of the call
  for (const long call : calls) {
    program.push_back({BPF_JMP | BPF_JEQ | BPF_K, 0, 1, static_cast<std::uint32_t>(call)});
    program.push_back(
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error)});
  }
  program.push_back({BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW});
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  RANK_CHECK(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  RANK_CHECK(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
}

// A root process becomes nobody, who may not look into whom he likes.
inline void become_unprivileged(unsigned user = 65'534) {
  if (::geteuid() != 0) return;
  RANK_CHECK(::setgroups(0, nullptr) == 0 && ::setresgid(user, user, user) == 0 &&
             ::setresuid(user, user, user) == 0);
}

// Whether other processes of this user may look into this one: /proc/PID/fd, pidfd_getfd, ptrace
// and process_vm_readv, all of which the kernel then refuses.
inline void let_others_look(bool may) {
  RANK_CHECK(::prctl(PR_SET_DUMPABLE, may ? 1 : 0, 0, 0, 0) == 0);
}

}  // namespace tutti::test
