// SPDX-License-Identifier: BSD-3-Clause
// fabric/node: the ranks are processes (or, in tests, threads) and a wait blocks: it spins, yields
// and sleeps inside await_ready, so that a coroutine never suspends.
#pragma once

#include "arch/arch.h"
#include "fabric/peers.h"
#include "fabric/upkeep.h"
#include "segment/sleeper.h"

namespace tutti::fabric {

class NodeProvider : public Peers {
 public:
  using Peers::Peers;

  template <class Condition>
  struct Await {
    NodeProvider& provider;
    Condition condition;
    [[gnu::always_inline]] bool await_ready() {  // a small call has mostly nothing to wait for here
      if (provider.failed()) [[unlikely]]
        return false;
      Watch watch;
      for (int polls = 0; polls < tight_polls; ++polls)
        if (condition.poll(watch)) return condition.accept();
      return provider.wait([this](Watch& w) { return condition.poll(w); }) && condition.accept();
    }
    // Nobody resumes a collective that has met an error.
    void await_suspend(std::coroutine_handle<>) const noexcept {}
    decltype(auto) await_resume() { return condition.resume(); }
  };

  // Gives the core away, in a wait that brings messages forward by itself.
  void give_core() const { (void)segment::yield(wait_policy()); }
  [[nodiscard]] bool shares_core() const { return wait_policy().shares_core; }

  void step_aside() {
    if (wait_policy().shares_core) segment::give_core();
  }
  Nothing pause(std::size_t, int) { return {}; }
  static void spend(std::size_t) {}
  static bool may_fold() { return true; }
  Nothing on(Executor) { return {}; }  // a blocking call is the rank's own

 private:
  // Polls before anything else is tried, without the pause that makes a poll slow.
  static constexpr int tight_polls = 64;
  // The first nap is short, so that a killed rank is named before the launcher ends the others.
  static constexpr std::int64_t first_nap_ns = 100'000;
  static constexpr std::int64_t longest_nap_ns = 100'000'000;
  // For ranks whose MPI must go on, as peers may need it before they can come to the collective
  // (one that locks a window of this rank, say).
  static constexpr std::int64_t longest_nap_with_upkeep_ns = 1'000'000;
  static constexpr std::int64_t polls_per_upkeep = 32;
  // How often a rank that spins long (TUTTI_SPIN) looks for peers that are gone.
  static constexpr std::int64_t polls_per_look = 2048 * polls_per_upkeep;

  // Polls until the condition holds, then yields, then sleeps. False when the wait is in vain. How
  // long it spins adapts. If yielding helped, another rank needed this core, and the next wait
  // yields sooner. If somebody else computes on the core, yielding does not help.
  template <class Poll>
  [[nodiscard, gnu::noinline]] bool wait(Poll poll) {
    Watch watch;
    for (std::int64_t polls = 0; polls < polls_; ++polls) {
      if (poll(watch)) {
        polls_ = polls_ > wait_policy().polls / 2 ? wait_policy().polls : 2 * polls_;
        return true;
      }
      if (polls % polls_per_upkeep == polls_per_upkeep - 1) {
        Upkeep::while_waiting();
        if (polls % polls_per_look == polls_per_look - 1 && in_vain(watch)) return false;
      }
      arch::relax();
    }
    polls_ =
        segment::yield_backoff().refuses()
            ? wait_policy().polls
            : std::max<std::int64_t>(polls_ / 2, std::min<std::int64_t>(16, wait_policy().polls));
    for (std::int64_t yields = 0; yields < wait_policy().yields; ++yields) {
      if (poll(watch)) return true;
      if (!segment::yield(wait_policy())) break;
      if (yields % 8 == 7 || Upkeep::presses()) {
        if (in_vain(watch)) return false;
        Upkeep::while_waiting();
      }
    }
    segment::Sleeper sleeper;
    const std::int64_t longest_ns = Upkeep::needed() ? longest_nap_with_upkeep_ns : longest_nap_ns;
    for (std::int64_t nap_ns = first_nap_ns; !poll(watch);
         nap_ns = std::min(2 * nap_ns, longest_ns)) {
      if (Upkeep::presses()) nap_ns = first_nap_ns;
      const segment::Awaited awaited{watch.word, watch.sleepers, watch.seen};
      sleeper.nap({&awaited, 1}, wait_policy(), nap_ns);
      if (in_vain(watch)) return false;
      Upkeep::while_waiting();
    }
    return true;
  }

  std::int64_t polls_ = wait_policy().polls;
};

using NodeFabric = DeskFabric<NodeProvider>;
static_assert(Fabric<NodeFabric>);

}  // namespace tutti::fabric
