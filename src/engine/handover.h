// SPDX-License-Identifier: BSD-3-Clause
// Descriptors for those who may not open them: where one process must not look into another one of
// the same user (Yama, containers, prctl(PR_SET_DUMPABLE)), each sends its own to whoever asks.
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
  std::uint64_t secret = 0;   // which its letters hold: only the group knows it
  std::uint64_t mailbox = 0;  // 0: it asks for nothing
};

// Collective over the group, which may span hosts: posts `mine` to each neighbour that asks, and
// calls arrived(index, letter) for each letter in this process's mailbox; the callee may take
// descriptors, and the rest is closed. Nobody waits but in the group's allgather, so that it lasts
// as long as members make progress. False when the allgather failed.
[[nodiscard]] bool hand_over(const Exchange& group, const std::vector<Neighbour>& neighbours,
                             const os::Letter& mine, os::Mailbox& mailbox,
                             const std::function<void(std::size_t, os::Letter&)>& arrived);

}  // namespace tutti::engine
