// SPDX-License-Identifier: BSD-3-Clause
// Ranks that are forked processes, with pipes between them for an Exchange.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "engine/exchange.h"

namespace tutti::test {

struct Endings {
  std::vector<int> status;  // by rank; or minus the signal that ended it
  std::string output;       // what all wrote to standard error
  [[nodiscard]] bool all(int expected) const {
    for (const int one : status)
      if (one != expected) return false;
    return true;
  }
};

// A failed expectation of a forked rank: says so, and ends it with status 1.
#define RANK_CHECK(condition)                                                        \
  do {                                                                               \
    if (!(condition)) {                                                              \
      std::fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
      std::_Exit(1);                                                                 \
    }                                                                                \
  } while (false)

namespace detail {

inline bool write_all(int fd, const void* data, std::size_t bytes) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t n = ::write(fd, next, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    next += n;
    bytes -= static_cast<std::size_t>(n);
  }
  return true;
}
inline bool read_all(int fd, void* data, std::size_t bytes) {
  char* next = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t n = ::read(fd, next, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    next += n;
    bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

struct Pipe {
  int ends[2] = {-1, -1};
};

}  // namespace detail

// One side of n processes that can talk in any subset of themselves.
class Pipes {
 public:
  explicit Pipes(int ranks) : ranks_(ranks), pipes_(static_cast<std::size_t>(ranks * ranks)) {
    for (detail::Pipe& pipe : pipes_)
      if (::pipe2(pipe.ends, O_CLOEXEC) != 0) std::abort();
  }
  ~Pipes() {
    for (detail::Pipe& pipe : pipes_)
      for (const int end : pipe.ends)
        if (end >= 0) ::close(end);
  }
  Pipes(const Pipes&) = delete;
  Pipes& operator=(const Pipes&) = delete;

  // In the process of `rank`: keeps only its own ends, so that the end of a peer is seen.
  void become(int rank) {
    for (int from = 0; from < ranks_; ++from)
      for (int to = 0; to < ranks_; ++to) {
        if (to != rank) drop(at(from, to).ends[0]);
        if (from != rank) drop(at(from, to).ends[1]);
      }
  }

  // Where `from` writes what `to` reads.
  [[nodiscard]] int written(int from, int to) { return at(from, to).ends[1]; }
  [[nodiscard]] int read(int from, int to) { return at(from, to).ends[0]; }

  // An Exchange of this process, rank `members[mine]`, with the other members.
  [[nodiscard]] engine::Exchange exchange(std::vector<int> members, int mine) {
    engine::Exchange group;
    group.rank = mine;
    group.size = static_cast<int>(members.size());
    group.allgather = [this, members, mine](const void* data, void* all, std::size_t bytes) {
      const int self = members[static_cast<std::size_t>(mine)];
      for (const int to : members)
        if (!detail::write_all(at(self, to).ends[1], data, bytes)) return false;
      auto* out = static_cast<char*>(all);
      for (const int from : members) {
        if (!detail::read_all(at(from, self).ends[0], out, bytes)) return false;
        out += bytes;
      }
      return true;
    };
    return group;
  }

 private:
  detail::Pipe& at(int from, int to) {
    return pipes_[static_cast<std::size_t>(from * ranks_ + to)];
  }
  static void drop(int& fd) {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }

  int ranks_;
  std::vector<detail::Pipe> pipes_;
};

// What a forked rank is given.
struct Rank {
  int rank, size;
  Pipes& pipes;
  engine::Exchange world;
};

namespace detail {

// Reads what the ranks write until all have closed it; false when that takes too long.
inline bool drain(int fd, std::string& output, int timeout_s) {
  const std::time_t end = std::time(nullptr) + timeout_s;
  char text[4096];
  while (std::time(nullptr) < end) {
    pollfd readable{fd, POLLIN, 0};
    if (::poll(&readable, 1, 200) <= 0) continue;
    const ssize_t n = ::read(fd, text, sizeof text);
    if (n <= 0) return true;
    output.append(text, static_cast<std::size_t>(n));
  }
  return false;
}

}  // namespace detail

// body(Rank&) in a process each; returning is success, std::_Exit(n) a status of its own. Ranks
// that have not ended after `timeout_s` are killed, which shows as -9.
template <class Body>
Endings fork_ranks(int ranks, const Body& body, int timeout_s = 120) {
  Endings endings;
  Pipes pipes(ranks);
  int output[2];
  if (::pipe2(output, O_CLOEXEC) != 0) std::abort();
  std::fflush(nullptr);
  std::vector<pid_t> pids;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::dup2(output[1], STDERR_FILENO);
      ::close(output[0]);
      ::close(output[1]);
      pipes.become(rank);
      std::vector<int> everyone;
      for (int member = 0; member < ranks; ++member) everyone.push_back(member);
      Rank self{rank, ranks, pipes, pipes.exchange(everyone, rank)};
      body(self);
      std::fflush(nullptr);
      std::_Exit(0);
    }
    pids.push_back(pid);
  }
  ::close(output[1]);
  pipes.become(-1);
  if (!detail::drain(output[0], endings.output, timeout_s))
    for (const pid_t pid : pids) ::kill(pid, SIGKILL);
  ::close(output[0]);
  for (const pid_t pid : pids) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    endings.status.push_back(WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status));
  }
  return endings;
}

}  // namespace tutti::test
