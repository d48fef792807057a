// SPDX-License-Identifier: BSD-3-Clause
// fabric/node: the ranks are processes (or, in tests, threads) and a wait blocks: it spins, yields
// and sleeps inside await_ready, so that a coroutine never suspends.
#pragma once

#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "fabric/desk_fabric.h"
#include "os/ticks.h"

namespace tutti::fabric {

// What is said when the ranks cannot go on together. The collective then stays undone.
struct Emergencies {
  void* context = nullptr;
  void (*peer_lost)(void* context, int peer) = nullptr;
  void (*mismatch)(void* context, int peer, std::uint64_t theirs, std::uint64_t mine) = nullptr;
  void (*surplus)(void* context, int peer, std::size_t sent, std::size_t room) = nullptr;
  void (*unreachable)(void* context, int peer, const Status& status) = nullptr;
  void (*told)(void* context, int peer) = nullptr;  // a member has met an error, and has said so
};

class NodeHost {
 public:
  struct Peer {
    const memory::Reach* reach = nullptr;                  // nullptr for threads of this process
    pid_t pid = 0;                                         // 0: this one
    const std::atomic<std::uint32_t>* presence = nullptr;  // see segment/segment.h
  };

  NodeHost(std::vector<Peer> peers, memory::Ways ways, segment::Patience patience,
           Emergencies emergencies)
      : peers_(std::move(peers)), ways_(ways), patience_(patience), emergencies_(emergencies) {}

  template <class Condition>
  struct Await {
    NodeHost& host;
    Condition condition;
    bool await_ready() {
      if (host.failed_) [[unlikely]]
        return false;
      Watch watch;
      for (int polls = 0; polls < tight_polls; ++polls)
        if (condition.poll(watch)) return condition.accept();
      return host.wait([this](Watch& w) { return condition.poll(w); }) && condition.accept();
    }
    // Nobody resumes a collective that has met an error.
    void await_suspend(std::coroutine_handle<>) const noexcept {}
    decltype(auto) await_resume() { return condition.resume(); }
  };

  struct Nothing {
    bool await_ready() const noexcept { return true; }
    void await_suspend(std::coroutine_handle<>) const noexcept {}
    void await_resume() const noexcept {}
  };
  Nothing pause(std::size_t) { return {}; }
  Nothing on(Executor) { return {}; }  // a blocking call is the rank's own

  void wake(const std::atomic<std::uint64_t>& word, const std::atomic<std::uint32_t>& sleepers) {
    segment::wake(word, sleepers, patience_);
  }
  void mismatch(int peer, std::uint64_t theirs, std::uint64_t mine) {
    if (!std::exchange(failed_, true))
      emergencies_.mismatch(emergencies_.context, peer, theirs, mine);
  }
  void surplus(int peer, std::size_t sent, std::size_t room) {
    if (!std::exchange(failed_, true)) emergencies_.surplus(emergencies_.context, peer, sent, room);
  }
  [[nodiscard]] bool failed() const { return failed_; }

  // What a rank that waits long does from time to time: peers may need its MPI to go on (one that
  // locks a window of its, say) before they can come to the collective.
  static void set_idle(void (*idle)()) { idle_ = idle; }

  // What the collective reports of itself, for its engine.
  void begin_call() { work_ticks_ = 0; }
  void take(Route route) { route_ = route; }
  void begin_work() { work_began_ = os::ticks(); }
  void end_work() { work_ticks_ += os::ticks() - work_began_; }
  [[nodiscard]] Route route() const { return route_; }
  [[nodiscard]] std::uint64_t work_ticks() const { return work_ticks_; }  // 0: not timed

  [[nodiscard]] Card offer(const void* buffer, std::size_t bytes) const {
    if (threads()) return {reinterpret_cast<std::uint64_t>(buffer), Way::mapped};
    return memory::offer(buffer, bytes, ways_);
  }
  [[nodiscard]] std::byte* map(int peer, const Card& card) const {
    const memory::Reach* reach = peers_[static_cast<std::size_t>(peer)].reach;
    return reach != nullptr ? reach->map(card) : reinterpret_cast<std::byte*>(card.address);
  }
  void read(int peer, const Card& card, std::size_t offset, void* to, std::size_t bytes);
  void write(int peer, const Card& card, std::size_t offset, const void* from, std::size_t bytes);
  [[nodiscard]] std::byte* scratch(std::size_t bytes);

 private:
  // Polls before anything else is tried, without the pause that makes a poll slow.
  static constexpr int tight_polls = 64;
  // Short at first, to name a killed rank before the launcher ends the others.
  static constexpr std::int64_t first_nap_ns = 100'000;
  static constexpr std::int64_t longest_nap_ns = 100'000'000;
  static constexpr std::int64_t longest_idle_nap_ns = 1'000'000;

  [[nodiscard]] bool threads() const { return peers_[0].reach == nullptr && peers_[0].pid == 0; }

  // Polls until the condition holds, ever more patiently. How long it spins adapts: when yielding
  // is what helped, somebody needed this core, and the next wait yields sooner. False when the wait
  // is in vain.
  template <class Poll>
  [[nodiscard]] bool wait(Poll poll) {
    Watch watch;
    for (std::int64_t polls = 0; polls < polls_; ++polls) {
      if (poll(watch)) {
        polls_ = std::min(2 * polls_, patience_.polls);
        return true;
      }
      segment::relax();
    }
    polls_ = std::max<std::int64_t>(polls_ / 2, std::min<std::int64_t>(16, patience_.polls));
    for (std::int64_t yields = 0; yields < patience_.yields; ++yields) {
      if (poll(watch)) return true;
      ::sched_yield();
      if (yields % 8 == 7) {
        if (in_vain(watch)) return false;
        if (idle_ != nullptr) idle_();
      }
    }
    const std::int64_t longest_ns = idle_ != nullptr ? longest_idle_nap_ns : longest_nap_ns;
    for (std::int64_t nap_ns = first_nap_ns; !poll(watch);
         nap_ns = std::min(2 * nap_ns, longest_ns)) {
      segment::sleep(*watch.word, *watch.sleepers, watch.seen, patience_, nap_ns);
      if (in_vain(watch)) return false;
      if (idle_ != nullptr) idle_();
    }
    return true;
  }
  // A peer's memory could not be copied.
  void give_up(int peer, const Status& status);
  // Whether a member is dead, or has failed.
  [[nodiscard]] bool in_vain(const Watch& watch);

  static inline void (*idle_)() = nullptr;

  std::vector<Peer> peers_;
  memory::Ways ways_;
  segment::Patience patience_;
  std::int64_t polls_ = patience_.polls;
  Emergencies emergencies_;
  bool failed_ = false;
  Route route_ = Route::line;
  std::uint64_t work_began_ = 0;
  std::uint64_t work_ticks_ = 0;
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  std::unique_ptr<std::byte, Free> scratch_;
  std::size_t scratch_bytes_ = 0;
};

using NodeFabric = DeskFabric<NodeHost>;
static_assert(Fabric<NodeFabric>);

}  // namespace tutti::fabric
