// SPDX-License-Identifier: BSD-3-Clause
// fabric/suspending: the ranks are real, and a wait suspends the algorithm. The thread that drives
// the queue resumes it when what it waits for has come; see progress/.
#pragma once

#include <coroutine>

#include "fabric/peers.h"

namespace tutti::fabric {

class SuspendingProvider : public Peers {
 public:
  using Peers::Peers;

  template <class Condition>
  struct Await {
    SuspendingProvider& provider;
    Condition condition;
    // Also false when an error was met: nobody then resumes the algorithm.
    bool await_ready() {
      constexpr bool before_post = requires { Condition::comes_before_post; };
      if (provider.failed() || (provider.only_posts_ && !before_post)) return false;
      Watch watch;
      return condition.poll(watch) && condition.accept();
    }
    void await_suspend(std::coroutine_handle<> handle) {
      const auto ready = [](void* awaiter, Watch& watch) {
        Condition& awaited = static_cast<Await*>(awaiter)->condition;
        return awaited.poll(watch) && awaited.accept();
      };
      provider.suspend({handle, ready, this});
    }
    decltype(auto) await_resume() { return condition.resume(); }
  };

  struct On {
    SuspendingProvider& provider;
    bool await_ready() const { return provider.may_go_on() && !provider.only_posts_; }
    void await_suspend(std::coroutine_handle<> handle) const {
      provider.suspend({handle, [](void*, Watch&) { return true; }, nullptr});
    }
    void await_resume() const noexcept {}
  };
  On on(Executor executor) {
    wanted_ = executor;
    return {*this};
  }
  static void spend(std::size_t) {}
  void step_aside() {}
  [[nodiscard]] bool may_fold() const { return !late_ || driver_ == Executor::rank; }
  // What follows may be left to the thread that drives next.
  On pause(std::size_t bytes, int) {
    paused_bytes_ += bytes;
    return {*this};
  }

  // No time is counted while the algorithm is suspended. So where members take chunks, the time is
  // that of the chunks that this member got.
  void begin_work() {
    working_ = true;
    Peers::begin_work();
  }
  void begin_shared_work() {
    shared_ = true;
    paused_bytes_ = 0;
    begin_work();
  }
  void end_work() {
    Peers::end_work();
    working_ = false;
  }
  // What was moved in that time, of `bytes` that the member moves.
  [[nodiscard]] std::size_t worked_bytes(std::size_t bytes) const {
    return shared_ ? paused_bytes_ : bytes;
  }

  // Says who drives from now on. `only_posts`: the algorithm tells the others what they wait for,
  // and leaves the work for later.
  void driven_by(Executor driver, bool only_posts) {
    driver_ = driver;
    only_posts_ = only_posts;
  }
  [[nodiscard]] Executor driver() const { return driver_; }
  [[nodiscard]] bool only_posts() const { return only_posts_; }
  // A new algorithm is about to start. `late`: only the rank may apply its operation.
  void begin_call(bool timed, bool late) {
    Peers::begin_call(timed);
    late_ = late;
    suspended_ = {};
    wanted_ = Executor::either;
    working_ = shared_ = false;
  }
  // Whether this driver is the one that the algorithm wants.
  [[nodiscard]] bool may_go_on() const { return wanted_ == Executor::either || wanted_ == driver_; }
  // Where the algorithm is to stop for now: `ready(awaiter, watch)` says whether it may go on.
  struct Suspended {
    std::coroutine_handle<> handle;
    bool (*ready)(void* awaiter, Watch& watch) = nullptr;
    void* awaiter = nullptr;  // lives in the suspended frame, so it is good until the resumption
  };
  void suspend(const Suspended& at) {
    if (working_) Peers::end_work();
    suspended_ = at;
  }
  // Lets the suspended algorithm go on up to its next wait. False: it cannot yet. `watch` then says
  // what it waits for, unless that is another driver.
  [[nodiscard]] bool resume(Watch& watch) {
    if (!may_go_on() || !suspended_.ready(suspended_.awaiter, watch)) return false;
    if (working_) Peers::begin_work();
    std::exchange(suspended_, {}).handle.resume();
    return true;
  }

 private:
  Suspended suspended_;
  Executor wanted_ = Executor::either;
  Executor driver_ = Executor::rank;
  bool only_posts_ = false;
  bool late_ = false;
  bool working_ = false;  // between begin_work() and end_work()
  bool shared_ = false;
  std::size_t paused_bytes_ = 0;
};

using SuspendingFabric = DeskFabric<SuspendingProvider>;
static_assert(Fabric<SuspendingFabric>);

}  // namespace tutti::fabric
