// SPDX-License-Identifier: BSD-3-Clause
#include "os/memfd.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U  // Linux 6.3; some systems refuse a memfd without it
#endif

namespace tutti::os {
namespace {

// Programs that close or list "all" low descriptors, and tests that expect the next one to be 3,
// are common. Not much higher: the kernel's table of descriptors grows with the highest.
constexpr int low_descriptors = 512;

int create(const char* name) {
  const int fd = ::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
  if (fd >= 0 || errno != EINVAL) return fd;
  return ::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

}  // namespace

int move_out_of_the_way(int fd) {
  const int higher = ::fcntl(fd, F_DUPFD_CLOEXEC, low_descriptors);
  if (higher < 0) return fd;  // RLIMIT_NOFILE is lower than that
  ::close(fd);
  return higher;
}

void make_way() {
  const int fd = ::open("/", O_PATH | O_CLOEXEC);
  if (fd >= 0) ::close(move_out_of_the_way(fd));
}

int create_memfd(const char* name, std::size_t bytes, FileId* id) {
  int fd = create(name);
  if (fd < 0) return -1;
  struct stat status {};
  if (::ftruncate(fd, static_cast<off_t>(bytes)) != 0 || ::fstat(fd, &status) != 0) {
    const int error = errno;
    ::close(fd);
    errno = error;
    return -1;
  }
  // Without the seals a peer could shrink the file under us; with a kernel that has none, we trust.
  (void)::fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  *id = {status.st_dev, status.st_ino};
  return move_out_of_the_way(fd);
}

bool refers_to(int fd, const FileId& id) {
  struct stat status {};
  return fd >= 0 && ::fstat(fd, &status) == 0 && status.st_dev == id.device &&
         status.st_ino == id.inode;
}

bool next_data(int fd, std::size_t offset, std::size_t end, std::size_t* from, std::size_t* to) {
  if (offset >= end) return false;
  off_t data = ::lseek(fd, static_cast<off_t>(offset), SEEK_DATA);
  if (data < 0 && errno == ENXIO) return false;
  // Where it cannot be told, all of it may be data.
  if (data < 0) data = static_cast<off_t>(offset);
  if (static_cast<std::size_t>(data) >= end) return false;
  const off_t hole = ::lseek(fd, data, SEEK_HOLE);
  *from = static_cast<std::size_t>(data);
  *to = hole < 0 ? end : std::min(static_cast<std::size_t>(hole), end);
  return true;
}

namespace {

// Until `move`, pread or pwrite, has moved all.
template <class Move, class Byte>
bool move_all(Move move, int fd, std::size_t offset, Byte* memory, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t moved = move(fd, memory, bytes, static_cast<off_t>(offset));
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) return false;
    memory += moved;
    offset += static_cast<std::size_t>(moved);
    bytes -= static_cast<std::size_t>(moved);
  }
  return true;
}

}  // namespace

bool write_file_at(int fd, std::size_t offset, const void* from, std::size_t bytes) {
  return move_all(::pwrite, fd, offset, static_cast<const std::byte*>(from), bytes);
}

void punch_file(int fd, std::size_t offset, std::size_t bytes) {
  (void)::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                    static_cast<off_t>(bytes));
}

bool read_file_at(int fd, std::size_t offset, void* to, std::size_t bytes) {
  return move_all(::pread, fd, offset, static_cast<std::byte*>(to), bytes);
}

}  // namespace tutti::os
