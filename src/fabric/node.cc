// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/node.h"

#include <cstdlib>

#include "base/base.h"
#include "os/os.h"

namespace tutti::fabric {
void NodeHost::sleep(const Watch& watch, std::int64_t nap_ns) {
  segment::sleep(*watch.word, *watch.sleepers, watch.seen, patience_, nap_ns);
  if (watch.word->load(std::memory_order_acquire) != watch.seen) return;
  // Any member may be the one that everybody waits for, not only the owner of the word.
  for (std::size_t peer = 0; peer < peers_.size(); ++peer) {
    if (peers_[peer].pid == 0 || !os::has_ended(peers_[peer].pid)) continue;
    // Looked at once more after its end is known: its last act may have been the awaited one, or
    // it may have done its part and left for good.
    if (watch.word->load(std::memory_order_acquire) != watch.seen) return;
    if (watch.desks[peer]->done.load(std::memory_order_acquire) >= watch.step) continue;
    emergencies_.peer_lost(emergencies_.context, static_cast<int>(peer));
  }
}

void NodeHost::read(int peer, const Card& card, std::size_t offset, void* to, std::size_t bytes) {
  const Status status = peers_[static_cast<std::size_t>(peer)].reach->read(card, offset, to, bytes);
  if (!status.ok()) emergencies_.unreachable(emergencies_.context, peer, status);
}

void NodeHost::write(int peer, const Card& card, std::size_t offset, const void* from,
                     std::size_t bytes) {
  const Status status =
      peers_[static_cast<std::size_t>(peer)].reach->write(card, offset, from, bytes);
  if (!status.ok()) emergencies_.unreachable(emergencies_.context, peer, status);
}

std::byte* NodeHost::scratch(std::size_t bytes) {
  if (bytes > scratch_bytes_) {
    void* memory = std::aligned_alloc(page_bytes, round_up(bytes, page_bytes));
    if (memory == nullptr) {
      log::fatal("out of memory: %zu bytes of scratch for a collective", bytes);
      std::abort();
    }
    scratch_.reset(static_cast<std::byte*>(memory));
    scratch_bytes_ = bytes;
  }
  return scratch_.get();
}

}  // namespace tutti::fabric
