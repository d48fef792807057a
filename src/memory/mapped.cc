// SPDX-License-Identifier: BSD-3-Clause
// The first rung: the peer's commons, mapped whole. Only address space is spent; it is opened as
// far as buffers are used, and page tables fill as pages are touched. The address-to-offset
// relation never changes, so nothing is cached and nothing can become stale.
#include <sys/stat.h>
#include <unistd.h>

#include "memory/memory.h"
#include "os/os.h"

namespace tutti::memory {

const char* Reach::open_commons(const Introduction& peer) {
  if (peer.fd < 0) return "the peer has no commons";
  const int fd = os::borrow_descriptor(peer.pid, peer.fd);
  if (fd < 0)
    return "the peer's descriptor cannot be opened (/proc/PID/fd and pidfd_getfd refused)";
  constexpr const char* something_else = "the peer's descriptor leads to something else";
  struct stat found {};
  if (::fstat(fd, &found) != 0 || found.st_size < static_cast<off_t>(peer.bytes)) {
    ::close(fd);  // to touch what a smaller file does not have would be a SIGBUS
    return something_else;
  }
  const bool mapped = window_.map(fd, peer.bytes);
  ::close(fd);
  if (!mapped) return "no address space for the peer's commons";
  base_ = peer.base;
  const auto* probe =
      reinterpret_cast<const volatile std::uint64_t*>(map({peer.mapped_probe, Way::mapped, 1}));
  if (*probe == peer.nonce) return "";
  window_.unmap();
  return something_else;
}

}  // namespace tutti::memory
