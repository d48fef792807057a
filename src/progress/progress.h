// SPDX-License-Identifier: BSD-3-Clause
// progress: what brings nonblocking collectives forward. Every process has one Driver. One thread
// at a time is in it and drives: a thread of the rank that waits or tests, or the progress thread.
// That never calls MPI, and sleeps when there is nothing to do. Words: docs/glossary.md.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "os/mutex.h"
#include "progress/operation.h"
#include "progress/settings.h"
#include "segment/sleeper.h"

namespace tutti::progress {

class Driver {
  // What a thread that sleeps keeps from nap to nap of one wait.
  struct WaitSet {
    std::vector<segment::Awaited> words;              // of the next nap
    std::vector<std::shared_ptr<const void>> owners;  // so that the words stay
    segment::Sleeper sleeper;                         // goes before them
    void leave() {
      sleeper.leave();
      words.clear();
      owners.clear();
    }
  };

 public:
  Driver() = default;
  ~Driver() { stop(); }
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  // Before the first post; only the first call has an effect.
  void configure(const Settings& settings);
  // The same, and starts the thread. False: there is none, or it could not be started.
  [[nodiscard]] bool start(const Settings& settings);

  // Starts an operation and tells the others what they wait for. The work is left to the thread
  // that drives next, unless there is little of it.
  void post(Operation& operation);
  // Whether even the start is left to the progress thread: it has a core of its own, and messages
  // take long to begin.
  [[nodiscard]] bool thread_begins(const InOrderQueue& queue) const;

  // Operations that were posted and not yet completed(). 0: all is visible that threads have done
  // with theirs.
  [[nodiscard]] std::uint32_t outstanding() const {
    return outstanding_.load(std::memory_order_acquire);  // pairs with completed()
  }
  // Operations that have ended since the last call, in the order in which they did. The thread that
  // takes one calls completed() when nobody has to wait for it any more.
  [[nodiscard]] OperationList finished();
  void completed();
  [[nodiscard]] bool has_finished() const {
    return finished_.load(std::memory_order_relaxed) != nullptr;
  }

  // Drives once, unless another thread does.
  void drive();

  // Whether to call step_aside(), which yields the core once, before this rank drives in a wait. It
  // is so where ranks share cores, their threads have other cores, and this rank has posted much:
  // the others may still compute.
  [[nodiscard]] bool steps_aside() const { return steps_aside_.load(std::memory_order_relaxed); }
  void step_aside();

  // Whether there is a thread that brings collectives forward, or will be when one is posted.
  [[nodiscard]] bool has_thread() const {
    return has_thread_.load(std::memory_order_acquire) && allowed_.load(std::memory_order_relaxed);
  }
  // Switches the thread off and on.
  void allow_thread(bool on);
  // Ends the thread; the next post starts another.
  void stop();
  // After stop(), when something is outstanding.
  void resume();

  // A rank's wait, whatever it waits for. step() drives: it polls, then yields, then sleeps while
  // nothing happens.
  class Wait {
   public:
    explicit Wait(Driver& driver);
    ~Wait();
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;
    // Whether the next step would sleep if it may. It may not where what is waited for can also
    // come from elsewhere.
    [[nodiscard]] bool would_sleep() const;
    // What is completed since the step before, or since the wait began, ends a sleep: the caller
    // has looked before that.
    void step(bool may_sleep);

   private:
    void drive_or_wait(bool may_sleep);

    Driver& driver_;
    std::uint32_t seen_ = 0;  // of the ranks' doorbell
    WaitSet wait_set_;
    std::int64_t polls_ = 0;
    std::int64_t yields_ = 0;
    bool may_yield_ = true;
    std::int64_t nap_ns_;
  };

 private:
  // Ranks share cores, and their threads have one of their own.
  [[nodiscard]] bool served() const {
    return settings_.dedicated && settings_.wait_policy.shares_core;
  }
  // With the lock held. `looks_after`: also whether peers are alive.
  bool round(fabric::Executor driver, bool looks_after);
  void admit();
  void begin_arrived(fabric::Executor driver);
  // A thread that finds the lock taken leaves what it has posted to the holder: unlock() begins it.
  void unlock(fabric::Executor driver);
  void settle(OperationList& finished);
  // Whether it has all that the queues wait for.
  bool make(WaitSet& wait_set) const;

  // Ranks that wait and the progress thread have a doorbell each. Else a rank that completes what
  // it waits for by itself would wake the thread each time.
  struct Doorbell {
    std::atomic<std::uint32_t> rung{0};
    std::atomic<std::uint32_t> sleepers{0};
    [[nodiscard]] std::uint32_t seen() const { return rung.load(std::memory_order_seq_cst); }
    void ring();
  };
  // Sleeps until a word of the wait set changes, or the doorbell is rung after `seen`. The wait set
  // then has no words any more.
  void sleep(WaitSet& wait_set, Doorbell& doorbell, std::uint32_t seen,
             std::int64_t timeout_ns) const;
  // The thread's: the same, and whoever has work for it has to wake it.
  void doze(WaitSet& wait_set, std::uint32_t seen, std::int64_t timeout_ns);
  // Ends that, also one that is about to begin.
  void end_doze();
  // Wakes the thread if it dozes. It does so once, though it may be a while until the thread has a
  // core.
  void rouse();
  void start_thread();
  void serve();

  // Of the thread that drives, which holds `driving_`:
  os::Mutex driving_;
  std::vector<InOrderQueue*> queues_;      // that have operations
  int elsewhere_ = 0;                      // queues that want another driver
  int asking_ = 0;                         // queues that wait for what rings no doorbell
  std::atomic<bool> wants_thread_{false};  // some queue wants the thread, which reads this

  // Threads of the rank put into arrivals_, and the one that drives takes from it. With finished_
  // it is the other way round.
  std::atomic<Operation*> arrivals_{nullptr};  // the latest first
  std::atomic<Operation*> finished_{nullptr};  // the latest first
  std::atomic<std::uint32_t> outstanding_{0};  // posted, not yet completed()
  std::atomic<std::uint32_t> unfinished_{0};   // posted, not yet in finished_
  Doorbell ranks_doorbell_, thread_doorbell_;

  // Written by threads of the rank alone.
  std::atomic<std::uint32_t> waiting_{0};  // how many wait
  std::atomic<std::uint32_t> rounds_{0};   // of drive()
  std::atomic<bool> steps_aside_{false};   // see steps_aside()
  std::once_flag configured_;
  Settings settings_;  // once, before the first post
  // Whether the members of any node leave the fence to those who sleep: a later one may where the
  // first did not.
  std::atomic<bool> asymmetric_fence_{false};
  std::atomic<bool> allowed_{true};  // see allow_thread()
  os::Mutex starting_;
  pthread_t thread_{};
  std::atomic<bool> has_thread_{false};  // or will have
  std::atomic<bool> started_{false};     // or could not be
  std::atomic<bool> stopping_{false};

  std::atomic<bool> asleep_{false};  // the thread sets it, and rouse() clears it
};

}  // namespace tutti::progress
