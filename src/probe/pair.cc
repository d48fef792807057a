// SPDX-License-Identifier: BSD-3-Clause
#include "probe/pair.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>

#include "os/memfd.h"

namespace tutti::probe {
namespace {

constexpr std::size_t word_bytes = sizeof(std::uint64_t);

// What the child answers through the pipe.
struct Reply {
  int error;
  std::uint64_t seen;
};

int map_and_read(int fd, std::uint64_t& seen) {
  if (fd < 0) return errno;
  void* page = mmap(nullptr, word_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (page == MAP_FAILED) return errno;
  std::memcpy(&seen, page, word_bytes);
  return 0;
}

[[noreturn]] void child(Attempt attempt, const Peer& peer, int pipe) {
  Reply reply{};
  // What the fork left here must not be mistaken for the parent's.
  *const_cast<std::uint64_t*>(peer.heap_word) = 0;
  close(peer.memfd);
  reply.error = attempt(peer, reply.seen);
  (void)!write(pipe, &reply, sizeof reply);
  _exit(0);
}

}  // namespace

int share_through_proc(const Peer& peer, std::uint64_t& seen) {
  const std::string path =
      "/proc/" + std::to_string(peer.pid) + "/fd/" + std::to_string(peer.memfd);
  return map_and_read(open(path.c_str(), O_RDWR | O_CLOEXEC), seen);
}

int share_through_pidfd(const Peer& peer, std::uint64_t& seen) {
  const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, peer.pid, 0));
  if (pidfd < 0) return errno;
  return map_and_read(static_cast<int>(syscall(SYS_pidfd_getfd, pidfd, peer.memfd, 0)), seen);
}

int share_through_socket(const Peer& peer, std::uint64_t& seen) {
  os::Letter letter;
  if (!peer.mailbox->receive(letter)) return EACCES;
  errno = EMFILE;  // the letter is there, but this process may open nothing more
  return map_and_read(letter.fds[0], seen);
}

int copy_through_kernel(const Peer& peer, std::uint64_t& seen) {
  // Into the heap: some sandboxes pass stack addresses and refuse others.
  const auto copy = std::make_unique<std::uint64_t>(0);
  const iovec mine{copy.get(), word_bytes};
  const iovec theirs{const_cast<std::uint64_t*>(peer.heap_word), word_bytes};
  if (process_vm_readv(peer.pid, &mine, 1, &theirs, 1, 0) != ssize_t{word_bytes}) return errno;
  seen = *copy;
  return 0;
}

PairResult try_pair(Attempt attempt) {
  const auto word =
      std::make_unique<std::uint64_t>(0x7475747469000000ull ^ static_cast<std::uint64_t>(getpid()));
  os::Mailbox mailbox;
  os::FileId id;
  const Peer peer{getpid(), os::create_memfd("tutti-probe", word_bytes, &id), word.get(), &mailbox};
  if (peer.memfd < 0) return {false, std::string("memfd_create: ") + std::strerror(errno)};
  os::Letter letter;
  letter.fds[0] = peer.memfd;
  if (mailbox.open(1).ok()) (void)os::post(mailbox.name(), peer.pid, letter);
  int ends[2];
  Reply reply{EIO, 0};
  if (write(peer.memfd, word.get(), word_bytes) == ssize_t{word_bytes} &&
      pipe2(ends, O_CLOEXEC) == 0) {
    const pid_t pid = fork();
    if (pid == 0) child(attempt, peer, ends[1]);
    close(ends[1]);
    if (pid < 0 || read(ends[0], &reply, sizeof reply) != ssize_t{sizeof reply}) reply.error = EIO;
    close(ends[0]);
    if (pid > 0) waitpid(pid, nullptr, 0);
  }
  close(peer.memfd);
  if (reply.error != 0) return {false, std::strerror(reply.error)};
  if (reply.seen != *word) return {false, "another word than the peer's was read"};
  return {true, ""};
}

}  // namespace tutti::probe
