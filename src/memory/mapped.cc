// SPDX-License-Identifier: BSD-3-Clause
// The first rung: the peer's commons, mapped whole. Only address space is spent; it is opened as
// far as buffers are used, and page tables fill as pages are touched. The address-to-offset
// relation never changes, so nothing is cached and nothing can become stale.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/bits.h"
#include "memory/memory.h"
#include "os/memfd.h"
#include "os/os.h"

namespace tutti::memory {

const char* PeerMemory::borrow_commons(const Introduction& peer, const Allowed& allowed) {
  if (peer.fd < 0) return "the peer has no commons";
  const int fd = os::borrow_descriptor(peer.pid, peer.fd);
  lacks_descriptor_ = fd < 0;
  if (lacks_descriptor_)
    return "the peer's descriptor cannot be opened (/proc/PID/fd and pidfd_getfd refused, none "
           "sent)";
  return map_commons(peer, allowed, fd);
}

void PeerMemory::open_commons(const Introduction& peer, const Allowed& allowed, int fd) {
  lacks_descriptor_ = false;
  no_commons_ = map_commons(peer, allowed, fd);
}

const char* PeerMemory::map_commons(const Introduction& peer, const Allowed& allowed, int fd) {
  constexpr const char* something_else = "the peer's descriptor leads to something else";
  struct stat found {};
  if (::fstat(fd, &found) != 0 || found.st_size < static_cast<off_t>(peer.bytes)) {
    ::close(fd);  // to touch what a smaller file does not have would be a SIGBUS
    return something_else;
  }
  std::uint64_t nonce = 0;  // it may lie behind what is mapped
  const bool is_right = os::read_file_at(fd, peer.mapped_probe - peer.base, &nonce, sizeof nonce) &&
                        nonce == peer.nonce;
  const std::uint64_t bytes = std::min(peer.bytes, allowed.window_bytes / page_bytes * page_bytes);
  const bool mapped = is_right && bytes > 0 && window_.map(fd, bytes);
  ::close(fd);
  if (!is_right) return something_else;
  if (!mapped) return "no address space for the peer's commons";
  window_.keep_from_children();
  base_ = peer.base;
  return "";
}

}  // namespace tutti::memory
