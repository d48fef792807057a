// SPDX-License-Identifier: BSD-3-Clause
#include "os/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace tutti::os {
namespace {

int open_pidfd(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }

// One process_vm_* call moves at most 2 GiB - 4 KiB; smaller bites also bound how long the kernel
// holds the pages of the peer.
constexpr std::size_t bite_bytes = std::size_t{256} << 20;

template <class Transfer>
Status transfer_all(std::byte* local, std::uint64_t remote, std::size_t bytes, Transfer transfer,
                    const char* what) {
  while (bytes > 0) {
    const std::size_t bite = bytes < bite_bytes ? bytes : bite_bytes;
    const iovec mine{local, bite};
    const iovec theirs{reinterpret_cast<void*>(remote), bite};
    const ssize_t moved = transfer(mine, theirs);
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) return Status::system(moved < 0 ? errno : EFAULT, what);
    local += moved;
    remote += static_cast<std::uint64_t>(moved);
    bytes -= static_cast<std::size_t>(moved);
  }
  return {};
}

// Of proc_pid_stat(5).
struct Life {
  bool known = false;
  bool exits = false;  // the first thread does, or has
  unsigned long threads = 0;
};

Life life_of(pid_t pid) {
  constexpr unsigned long exiting = 0x4;  // PF_EXITING, in field 9
  char path[64], text[1024];
  std::snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(pid));
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  const ssize_t length = ::read(fd, text, sizeof text - 1);
  ::close(fd);
  if (length <= 0) return length < 0 && errno == ESRCH ? Life{true, true, 0} : Life{};
  text[length] = '\0';
  const char* after_name = std::strrchr(text, ')');  // the name may hold anything
  char state = '?';
  unsigned long flags = 0, threads = 0;
  if (after_name == nullptr ||
      std::sscanf(after_name,
                  ") %c %*d %*d %*d %*d %*d %lu %*u %*u %*u %*u %*u %*u %*d %*d %*d "
                  "%*d %lu",
                  &state, &flags, &threads) != 3)
    return {};
  return {true, state == 'Z' || state == 'X' || (flags & exiting) != 0, threads};
}

}  // namespace

int borrow_descriptor(pid_t pid, int fd) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", static_cast<int>(pid), fd);
  const int opened = ::open(path, O_RDWR | O_CLOEXEC);
  if (opened >= 0) return opened;
  const int pidfd = open_pidfd(pid);
  if (pidfd < 0) return -1;
  const int borrowed = static_cast<int>(::syscall(SYS_pidfd_getfd, pidfd, fd, 0));
  const int error = errno;
  ::close(pidfd);
  errno = error;
  return borrowed;
}

Status read_memory(pid_t pid, void* to, std::uint64_t from, std::size_t bytes) {
  return transfer_all(
      static_cast<std::byte*>(to), from, bytes,
      [pid](const iovec& mine, const iovec& theirs) {
        return ::process_vm_readv(pid, &mine, 1, &theirs, 1, 0);
      },
      "process_vm_readv");
}

Status write_memory(pid_t pid, std::uint64_t to, const void* from, std::size_t bytes) {
  return transfer_all(
      static_cast<std::byte*>(const_cast<void*>(from)), to, bytes,
      [pid](const iovec& mine, const iovec& theirs) {
        return ::process_vm_writev(pid, &mine, 1, &theirs, 1, 0);
      },
      "process_vm_writev");
}

bool has_ended(pid_t pid) {
  const int pidfd = open_pidfd(pid);
  if (pidfd < 0) return errno == ESRCH;
  pollfd ended{pidfd, POLLIN, 0};
  const bool result = ::poll(&ended, 1, 0) == 1;
  ::close(pidfd);
  return result;
}

// What of a process is left after an exec has the number of its first thread, and goes on.
bool has_gone(pid_t pid, pid_t thread) {
  const Life life = life_of(pid);
  if (!life.known) return has_ended(pid);
  return life.exits ? life.threads <= 1 : thread == pid;
}

}  // namespace tutti::os
