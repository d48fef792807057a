// SPDX-License-Identifier: BSD-3-Clause
// The second rung: cross memory attach. One copy and a system call; needs the right to ptrace.
#include <cerrno>

#include "memory/memory.h"
#include "os/os.h"

namespace tutti::memory {

const char* PeerMemory::open_cma(const Introduction& peer) const {
  std::uint64_t seen = 0;
  const Status status = os::read_memory(peer.pid, &seen, peer.probe, sizeof seen);
  if (!status.ok())
    return status.error == EPERM    ? "process_vm_readv is not permitted (ptrace is restricted)"
           : status.error == ENOSYS ? "this kernel has no process_vm_readv"
                                    : "process_vm_readv failed";
  if (seen != peer.nonce) return "process_vm_readv reached another process";
  // What a filter of system calls allows to read it need not allow to write: the same value again.
  if (!os::write_memory(peer.pid, peer.probe, &seen, sizeof seen).ok())
    return "process_vm_writev is not permitted";
  return "";
}

}  // namespace tutti::memory
