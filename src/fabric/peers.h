// SPDX-License-Identifier: BSD-3-Clause
// What both providers of real ranks share (fabric/node.h and fabric/suspending.h): how they reach
// the memory of the other members, what they say when these are gone, and what a collective tells
// of itself.
#pragma once

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "arch/arch.h"
#include "commons/commons.h"
#include "fabric/desk_fabric.h"
#include "fabric/scratch.h"

namespace tutti::fabric {

// What to call when the ranks cannot go on together. The collective then stays undone.
struct Emergencies {
  void* context = nullptr;
  void (*peer_lost)(void* context, int peer) = nullptr;
  void (*mismatch)(void* context, int peer, std::uint64_t theirs, std::uint64_t mine) = nullptr;
  // A member has gone on without posting a step that this one awaits.
  void (*astray)(void* context, int peer, Step step) = nullptr;
  void (*truncation)(void* context, int peer, std::size_t sent, std::size_t room) = nullptr;
  void (*unreachable)(void* context, int peer, const Status& status) = nullptr;
  // A member has met an error, and has said so.
  void (*peer_error)(void* context, int peer) = nullptr;
  // Looks whether members have mixed up blocking and nonblocking collectives, and says so.
  bool (*mixed_up)(void* context) = nullptr;
  // The same as mismatch and truncation, of a member on another node: its rank in the communicator.
  void (*mismatch_across)(void* context, int rank, std::uint64_t theirs,
                          std::uint64_t mine) = nullptr;
  void (*truncation_across)(void* context, int rank, std::size_t sent, std::size_t room) = nullptr;
  // Whether a member on another node has met an error.
  bool (*called_off)(void* context) = nullptr;
  // Looks whether a member on another node is in another call, and says so.
  bool (*strayed)(void* context) = nullptr;
  // A message between nodes could not be sent or received, or was not of the length awaited.
  void (*messages_lost)(void* context) = nullptr;
};

// An awaitable that is always ready.
struct Nothing {
  bool await_ready() const noexcept { return true; }
  void await_suspend(std::coroutine_handle<>) const noexcept {}
  void await_resume() const noexcept {}
};

class Peers {
 public:
  struct Peer {
    const memory::PeerMemory* reach = nullptr;             // nullptr for threads of this process
    pid_t pid = 0;                                         // 0: this one
    const std::atomic<std::uint32_t>* presence = nullptr;  // see segment/segment.h
  };

  Peers(std::vector<Peer> peers, memory::Transports transports, segment::WaitPolicy wait_policy,
        Emergencies emergencies)
      : peers_(std::move(peers)),
        transports_(transports),
        wait_policy_(wait_policy),
        emergencies_(emergencies) {}

  void wake(const std::atomic<std::uint64_t>& word, const std::atomic<std::uint32_t>& sleepers) {
    segment::wake(word, sleepers, wait_policy_);
  }
  void mismatch(int peer, std::uint64_t theirs, std::uint64_t mine) {
    if (!fail()) emergencies_.mismatch(emergencies_.context, peer, theirs, mine);
  }
  void truncation(int peer, std::size_t sent, std::size_t room) {
    if (!fail()) emergencies_.truncation(emergencies_.context, peer, sent, room);
  }
  void withdrawn(int peer) {
    if (!fail()) emergencies_.peer_error(emergencies_.context, peer);
  }
  [[nodiscard]] bool failed() const { return failed_.load(std::memory_order_relaxed); }
  // From now on no collective begins or goes on; another thread may be in one. Returns whether this
  // had failed before.
  bool fail() { return failed_.exchange(true, std::memory_order_relaxed); }

  // Whether a member's process has ended, as far as that can be known.
  [[nodiscard]] bool has_ended(std::size_t member) const;
  // Whether memory could not be copied, or a member has gone and its memory was let go, perhaps
  // while it was read. Then this has failed, and nobody may take what was read for a result. To be
  // asked before the others are told that something is done, or that all has succeeded.
  [[nodiscard]] bool has_read_in_vain() {
    // What was read came before what is asked here.
    std::atomic_thread_fence(std::memory_order_acquire);
    const unsigned what = memory::PeerMemory::in_vain();
    return what != 0 && concerns(what);
  }
  // Whether nobody will end this wait: the member that could is dead or has failed. If this rank
  // itself is waiting, also: a member waits for this one in a call that does not match.
  [[nodiscard]] bool in_vain(const Watch& watch, bool rank_waits = true);

  // in_vain() of a wait that is about no member of this node.
  [[nodiscard]] bool is_left_behind(std::span<Desk* const> desks, bool rank_waits = true);
  void mismatch_across(int rank, std::uint64_t theirs, std::uint64_t mine) {
    if (!fail()) emergencies_.mismatch_across(emergencies_.context, rank, theirs, mine);
  }
  void truncation_across(int rank, std::size_t sent, std::size_t room) {
    if (!fail()) emergencies_.truncation_across(emergencies_.context, rank, sent, room);
  }
  void lose_messages() {
    if (!fail()) emergencies_.messages_lost(emergencies_.context);
  }

  // What the collective reports of itself, for its engine.
  // `timed`: work_ticks() will be asked afterwards. Reading the clock costs as much as a line.
  void begin_call(bool timed) {
    timed_ = timed;
    work_ticks_ = 0;
    route_ = Route::line;
  }
  void take(Route route) { route_ = route; }
  void begin_work() {
    if (timed_) work_began_ = arch::ticks();
  }
  void begin_shared_work() { begin_work(); }
  void end_work() {
    if (timed_) work_ticks_ += arch::ticks() - work_began_;
  }
  [[nodiscard]] Route route() const { return route_; }
  [[nodiscard]] std::uint64_t work_ticks() const { return work_ticks_; }  // 0: not timed

  [[nodiscard]] Card offer(const void* buffer, std::size_t bytes, bool full = true) const {
    arch::fence_streams();  // the program's own: a flag does not come after them by itself
    if (threads()) return {reinterpret_cast<std::uint64_t>(buffer), best_transport};
    return memory::offer(buffer, bytes, transports_, full);
  }
  // So that its pages are this rank's, where that matters. Nothing is done for a buffer that had
  // its pages at the last call and has them still.
  void populate(const void* buffer, std::size_t bytes) {
    if (!transports_.touches_first) return;
    const std::uint64_t since = commons::populated_since();
    if (populated_.buffer == buffer && populated_.bytes >= bytes && populated_.since == since)
        [[likely]]
      return;
    commons::populate(buffer, bytes);
    populated_ = {buffer, bytes, since};
  }
  [[nodiscard]] std::byte* map(int peer, const Card& card) const {
    const memory::PeerMemory* reach = peers_[static_cast<std::size_t>(peer)].reach;
    return reach != nullptr ? reach->map(card) : reinterpret_cast<std::byte*>(card.address);
  }
  void read(int peer, const Card& card, std::size_t offset, void* to, std::size_t bytes);
  void write(int peer, const Card& card, std::size_t offset, const void* from, std::size_t bytes);
  [[nodiscard]] std::byte* scratch(std::size_t bytes) { return scratch_.of(bytes); }
  // Between two collectives: gives back what only a large one needed. The last one moved `moved`
  // bytes.
  void tidy(std::size_t moved) {
    scratch_.tidy();
    if (transports_.windows != nullptr) transports_.windows->moved(moved, peers_.size() - 1);
  }

 protected:
  [[nodiscard]] const segment::WaitPolicy& wait_policy() const { return wait_policy_; }

 private:
  [[nodiscard]] bool threads() const { return peers_[0].reach == nullptr && peers_[0].pid == 0; }
  // Whether what this process had in vain is of these peers.
  [[nodiscard, gnu::cold]] bool concerns(unsigned what);
  [[nodiscard]] bool meet_loss();
  // Whether this has failed, so that a copy is not made.
  [[nodiscard]] bool gives_up();
  void note_not_copied();
  // A peer's memory could not be copied.
  void give_up(int peer, const Status& status);

  std::vector<Peer> peers_;
  memory::Transports transports_;
  segment::WaitPolicy wait_policy_;
  Emergencies emergencies_;
  std::atomic<bool> failed_{false};
  bool gave_up_ = false;  // memory of a peer could not be reached
  Route route_ = Route::line;
  bool timed_ = false;
  std::uint64_t work_began_ = 0;
  std::uint64_t work_ticks_ = 0;
  Scratch scratch_;
  struct {
    const void* buffer = nullptr;
    std::size_t bytes = 0;
    std::uint64_t since = 0;
  } populated_;  // the last one
};

}  // namespace tutti::fabric
