// SPDX-License-Identifier: BSD-3-Clause
// Descriptors passed between processes of one user that may not look into each other: the receiver
// opens a mailbox, a socket with a random name in the abstract namespace, so that nothing is in any
// file system; whoever is told the name posts a letter. Nothing here ever waits: what has been
// posted lies in the mailbox until it is received, even when its sender has ended.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>

#include "base/status.h"

namespace tutti::os {

// The kernel vouches for who wrote it; `secret` is what reader and writer know of each other.
struct Letter {
  static constexpr std::size_t slots = 2;
  pid_t from = 0;
  std::uint64_t secret = 0;
  std::array<int, slots> fds = {-1, -1};  // -1: none

  void close_all();
};

class Mailbox {
 public:
  Mailbox() = default;
  ~Mailbox();
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  // `senders` is how many letters may lie in it.
  Status open(int senders);
  // What senders must know; 0 when not open.
  [[nodiscard]] std::uint64_t name() const { return name_; }
  // The next letter, of a process of this user; its descriptors are the caller's. False when there
  // is none.
  [[nodiscard]] bool receive(Letter& letter);

 private:
  int socket_ = -1;
  std::uint64_t name_ = 0;
  int connections_ = 0;
};

enum class Posted : std::uint8_t {
  yes,
  later,  // the mailbox is full, or too many descriptors of this user are under way
  never,  // there is no such mailbox of process `owner` of this user, or the kernel refuses
};
// Posts `letter.secret` and the descriptors of the letter, which stay open here.
[[nodiscard]] Posted post(std::uint64_t mailbox, pid_t owner, const Letter& letter);

}  // namespace tutti::os
