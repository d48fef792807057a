// SPDX-License-Identifier: BSD-3-Clause
// Descriptors for processes that may not open them. Where a process must not look into another one
// of the same user (Yama, containers, prctl(PR_SET_DUMPABLE)), each sends its own to those that
// ask.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/exchange.h"
#include "os/mailbox.h"

namespace tutti::engine {

// Another process of this host.
struct Neighbour {
  pid_t pid = 0;
  std::uint64_t secret = 0;   // in its letters; only the group knows it
  std::uint64_t mailbox = 0;  // 0: it asks for nothing
};

// Collective over the group, which may span hosts. Posts `mine` to each neighbour that asks. Calls
// arrived(index, letter) for each letter in this process's mailbox: the callee may take descriptors
// from it, and the rest is closed. Members wait only in the group's allgather. So this goes on as
// long as members make progress. False when the allgather failed.
[[nodiscard]] bool hand_over(const Exchange& group, const std::vector<Neighbour>& neighbours,
                             const os::Letter& mine, os::Mailbox& mailbox,
                             const std::function<void(std::size_t, os::Letter&)>& arrived);

}  // namespace tutti::engine
