// SPDX-License-Identifier: BSD-3-Clause
// Tries a way to a peer's memory between this process and a forked child, for real.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "os/mailbox.h"

namespace tutti::probe {

// What the child must find: the parent's word, in a memfd and on its heap.
struct Peer {
  pid_t pid;
  int memfd;
  const std::uint64_t* heap_word;
  os::Mailbox* mailbox;  // in which the memfd lies too, unless it could not be posted
};

// Runs in the child: 0 and the parent's word in `seen`, or an errno.
using Attempt = int (*)(const Peer& peer, std::uint64_t& seen);
int share_through_proc(const Peer& peer, std::uint64_t& seen);
int share_through_pidfd(const Peer& peer, std::uint64_t& seen);
int share_through_socket(const Peer& peer, std::uint64_t& seen);
int copy_through_kernel(const Peer& peer, std::uint64_t& seen);

struct PairResult {
  bool ok;
  std::string why;  // when not
};
[[nodiscard]] PairResult try_pair(Attempt attempt);

}  // namespace tutti::probe
