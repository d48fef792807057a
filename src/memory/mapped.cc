// SPDX-License-Identifier: BSD-3-Clause
// The first rung: the peer's commons, mapped whole. Only address space is spent; page tables fill
// as pages are touched. The address-to-offset relation never changes, so nothing is cached and
// nothing can become stale.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

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
  void* window =
      ::mmap(nullptr, peer.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  ::close(fd);
  if (window == MAP_FAILED) return "no address space for the peer's commons";
  window_ = static_cast<std::byte*>(window);
  base_ = peer.base;
  bytes_ = peer.bytes;
  const auto* probe =
      reinterpret_cast<const volatile std::uint64_t*>(map({peer.mapped_probe, Way::mapped}));
  if (*probe == peer.nonce) return "";
  ::munmap(std::exchange(window_, nullptr), bytes_);
  return something_else;
}

Reach::~Reach() {
  if (window_ != nullptr) ::munmap(window_, bytes_);
}

Reach::Reach(Reach&& other) noexcept
    : pid_(other.pid_),
      window_(std::exchange(other.window_, nullptr)),
      base_(other.base_),
      bytes_(other.bytes_),
      no_commons_(other.no_commons_),
      no_cma_(other.no_cma_) {}

}  // namespace tutti::memory
