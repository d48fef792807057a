// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/peers.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/base.h"
#include "os/os.h"

namespace tutti::fabric {

bool Peers::has_ended(std::size_t member) const {
  const Peer& peer = peers_[member];
  // Perhaps only the thread that had signed in has ended.
  return peer.pid != 0 && segment::Segment::marked_as_ended(*peer.presence) &&
         os::has_gone(peer.pid, segment::Segment::signer_of(*peer.presence));
}

bool Peers::in_vain(const Watch& watch, bool rank_waits) {
  if (watch.poster >= 0) {
    const Desk& desk = *watch.desks[static_cast<std::size_t>(watch.poster)];
    const bool done = desk.done.load(std::memory_order_acquire) >= watch.step;
    if (watch.word->load(std::memory_order_acquire) != watch.seen) return false;
    if (done || watch.seen > watch.step) {
      if (!fail()) emergencies_.astray(emergencies_.context, watch.poster, watch.step);
      return true;
    }
  }
  // Any member may be the one that everybody waits for, not only the owner of the word.
  std::size_t gone = 0;
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    const bool has_failed = watch.desks[i]->failed.load(std::memory_order_acquire) != 0;
    if (!has_failed && !has_ended(i)) continue;
    // Look at the word once more after the member's end is known. Its last act may have been the
    // awaited one; or it may have done its part and left for good, or have failed in a later call.
    if (watch.word->load(std::memory_order_acquire) != watch.seen) return false;
    ++gone;
    // A member that has finished the step is not waited for. But if nobody else is left, its steps
    // may say nothing: members may have called different things.
    if (gone + 1 < peers_.size() &&
        watch.desks[i]->done.load(std::memory_order_acquire) >= watch.step)
      continue;
    if (!fail())
      (has_failed ? emergencies_.peer_error : emergencies_.peer_lost)(emergencies_.context,
                                                                      static_cast<int>(i));
    return true;
  }
  if (!rank_waits || failed()) return false;
  if (emergencies_.called_off != nullptr && emergencies_.called_off(emergencies_.context)) {
    if (!fail()) emergencies_.peer_error(emergencies_.context, 0);
    return true;
  }
  const auto says = [&](bool (*look)(void*)) {
    return look != nullptr && look(emergencies_.context);
  };
  if (!says(emergencies_.strayed) && !says(emergencies_.mixed_up)) return false;
  (void)fail();
  return true;
}

bool Peers::is_left_behind(std::span<Desk* const> desks, bool rank_waits) {
  static constexpr Step never = ~Step{0};
  static const std::atomic<std::uint64_t> still{0};
  return in_vain({&still, nullptr, 0, never, desks}, rank_waits);
}

bool Peers::concerns(unsigned what) {
  return gave_up_ ||
         ((what & memory::PeerMemory::lost) != 0 && route_ != Route::line && meet_loss());
}

bool Peers::meet_loss() {
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    if (peers_[i].reach == nullptr || !peers_[i].reach->is_lost()) continue;
    give_up(static_cast<int>(i), Status::system(ESRCH, "memory of a process that has gone"));
    return true;
  }
  return false;
}

void Peers::note_not_copied() {
  gave_up_ = true;
  memory::PeerMemory::note_in_vain(memory::PeerMemory::not_copied);
}

void Peers::give_up(int peer, const Status& status) {
  note_not_copied();
  // A peer that ended in the midst of a copy is lost, whatever the copy said.
  const pid_t pid = peers_[static_cast<std::size_t>(peer)].pid;
  if (fail()) return;
  if (status.error == ESRCH || (pid != 0 && os::has_ended(pid)))
    emergencies_.peer_lost(emergencies_.context, peer);
  else
    emergencies_.unreachable(emergencies_.context, peer, status);
}

// What this rank does not do any more, nobody may be told it has done.
bool Peers::gives_up() {
  if (!failed()) return false;
  note_not_copied();
  return true;
}

void Peers::read(int peer, const Card& card, std::size_t offset, void* to, std::size_t bytes) {
  if (gives_up()) return;
  const Status status = peers_[static_cast<std::size_t>(peer)].reach->read(card, offset, to, bytes);
  if (!status.ok()) give_up(peer, status);
}

void Peers::write(int peer, const Card& card, std::size_t offset, const void* from,
                  std::size_t bytes) {
  if (gives_up()) return;
  const Status status =
      peers_[static_cast<std::size_t>(peer)].reach->write(card, offset, from, bytes);
  if (!status.ok()) give_up(peer, status);
}

}  // namespace tutti::fabric
