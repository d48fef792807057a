// SPDX-License-Identifier: BSD-3-Clause
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <utility>

#include "arch/arch.h"
#include "base/base.h"
#include "fabric/upkeep.h"
#include "os/os.h"
#include "progress/in_order_queue.h"
#include "progress/progress.h"

namespace tutti::progress {
namespace {

using fabric::Executor;

constexpr std::int64_t first_nap_ns = 50'000;
constexpr std::int64_t longest_nap_ns = 1'000'000;
constexpr std::int64_t sleep_ns = 3'600'000'000'000;
// Naps of a thread without queues to drive, before it sleeps until somebody rings. On a rank's core
// a nap that its timer ends takes 28 us from that rank, and to be rung 13 (an EPYC in a virtual
// machine); on its own core nobody pays.
constexpr int naps_before_sleep = 2, dedicated_naps_before_sleep = 100;
// A nap on a rank's core that ends when there is something to do.
constexpr std::int64_t doze_ns = 16'000'000;
// Yields of a thread on a core of its own before it takes naps.
constexpr int dedicated_yields = 20'000;
// One round in so many looks whether peers are alive, for which it asks the kernel.
constexpr int rounds_per_look = 8;
// Of a rank that still polls, which soon yields unless TUTTI_SPIN says otherwise.
constexpr std::int64_t polls_per_look = 65536;
// Yields of a waiting rank whose thread has a core of its own, before it sleeps.
constexpr std::int64_t served_yields = 2;
// Polls of a waiting rank that asks for messages, before it yields: each is a call of the MPI.
constexpr std::int64_t asking_polls = 16;

// Pushes to a list whose latest is first.
void push(std::atomic<Operation*>& list, Operation& operation) {
  Operation* first = list.load(std::memory_order_relaxed);
  do {
    operation.next = first;
  } while (!list.compare_exchange_weak(first, &operation, std::memory_order_seq_cst,
                                       std::memory_order_relaxed));
}

// Takes the whole list, the earliest first.
OperationList take(std::atomic<Operation*>& list) {
  OperationList operations;
  if (list.load(std::memory_order_relaxed) == nullptr) return operations;
  Operation* turned = nullptr;
  for (Operation* operation = list.exchange(nullptr, std::memory_order_seq_cst);
       operation != nullptr;) {
    Operation* next = std::exchange(operation->next, turned);
    turned = std::exchange(operation, next);
  }
  while (turned != nullptr) {
    Operation* next = turned->next;
    operations.push(*turned);
    turned = next;
  }
  return operations;
}

}  // namespace

void Driver::configure(const Settings& settings) {
  std::call_once(configured_, [&] {
    settings_ = settings;
    has_thread_.store(settings.thread, std::memory_order_release);
  });
  if (settings.wait_policy.asymmetric_fence)
    asymmetric_fence_.store(true, std::memory_order_relaxed);
}

bool Driver::start(const Settings& settings) {
  configure(settings);
  start_thread();
  return has_thread_.load(std::memory_order_acquire);
}

void Driver::post(Operation& operation) {
  const bool yields = served() && operation.bytes >= limits::courteous_bytes;
  outstanding_.fetch_add(1, std::memory_order_relaxed);
  unfinished_.fetch_add(1, std::memory_order_relaxed);
  push(arrivals_, operation);
  if (driving_.try_lock()) {
    begin_arrived(Executor::rank);
    unlock(Executor::rank);
  }
  if (!has_thread()) return;
  if (!started_.load(std::memory_order_acquire)) [[unlikely]]
    start_thread();
  // A thread that shares a core with a rank is not rung, unless it dozes: it would only take the
  // core from a rank that posts more. It looks by itself within a millisecond.
  if (settings_.dedicated)
    thread_doorbell_.ring();
  else
    end_doze();
  if (yields) {
    steps_aside_.store(true, std::memory_order_relaxed);
    ::sched_yield();
  }
}

void Driver::step_aside() {
  steps_aside_.store(false, std::memory_order_relaxed);
  ::sched_yield();
}

OperationList Driver::finished() { return take(finished_); }

void Driver::completed() {
  if (outstanding_.fetch_sub(1, std::memory_order_release) == 1)
    steps_aside_.store(false, std::memory_order_relaxed);
  // Another thread may wait for it, which saw that it was taken, and not that it is completed.
  if (waiting_.load(std::memory_order_seq_cst) != 0) ranks_doorbell_.ring();
}

void Driver::drive() {
  if (!driving_.try_lock()) return;
  const bool looks = rounds_.fetch_add(1, std::memory_order_relaxed) % rounds_per_look == 0;
  round(Executor::rank, looks);
  unlock(Executor::rank);
}

void Driver::unlock(Executor driver) {
  driving_.unlock();
  for (;;) {
    std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the push in post()
    if (arrivals_.load(std::memory_order_relaxed) == nullptr || !driving_.try_lock()) return;
    begin_arrived(driver);
    driving_.unlock();
  }
}

// Tells the others what has arrived, and does what is small.
void Driver::begin_arrived(Executor driver) {
  admit();
  OperationList finished;
  for (InOrderQueue* queue : queues_) {
    if (queue->running() || (driver == Executor::rank && thread_begins(*queue))) continue;
    queue->advance(driver, !queue->is_small(limits::small_bytes), finished);
  }
  settle(finished);
}

bool Driver::thread_begins(const InOrderQueue& queue) const {
  return settings_.dedicated && has_thread() && queue.may_ask(Executor::progress);
}

void Driver::admit() {
  OperationList arrived = take(arrivals_);
  while (Operation* operation = arrived.pop()) {
    if (operation->queue->idle()) queues_.push_back(operation->queue);
    operation->queue->add(*operation);
  }
}

// Ends a round. A queue may be gone as soon as its last operation is published.
void Driver::settle(OperationList& finished) {
  std::erase_if(queues_, [](const InOrderQueue* queue) { return queue->idle(); });
  if (finished.empty()) return;
  while (Operation* operation = finished.pop()) {
    unfinished_.fetch_sub(1, std::memory_order_relaxed);
    push(finished_, *operation);
  }
  if (waiting_.load(std::memory_order_seq_cst) != 0) ranks_doorbell_.ring();
}

bool Driver::round(Executor driver, bool looks_after) {
  admit();
  bool moved = false;
  bool left = false;  // there is work for a rank, which may sleep
  OperationList finished;
  elsewhere_ = asking_ = 0;
  bool presses = false;
  for (InOrderQueue* queue : queues_) {
    bool advanced = false;
    while (queue->advance(driver, false, finished)) advanced = true;
    moved = moved || advanced;
    if (looks_after) queue->look_after(finished);
    if (queue->idle()) continue;
    presses = presses || queue->asks();
    if (queue->asks() && queue->may_ask(driver))
      ++asking_;
    else if (queue->watch().word == nullptr)
      ++elsewhere_;
    left = left || (advanced && driver == Executor::progress && queue->is_late());
  }
  if (left && waiting_.load(std::memory_order_seq_cst) != 0) ranks_doorbell_.ring();
  wants_thread_.store(driver == Executor::rank && elsewhere_ > 0, std::memory_order_relaxed);
  fabric::Upkeep::press(presses);
  moved = moved || !finished.empty();
  settle(finished);
  return moved;
}

bool Driver::make(WaitSet& wait_set) const {
  for (const InOrderQueue* queue : queues_) {
    const fabric::Watch& watch = queue->watch();
    if (watch.word == nullptr) continue;
    wait_set.words.push_back({watch.word, watch.sleepers, watch.seen});
  }
  const bool has_all = asking_ == 0 && wait_set.words.size() == queues_.size() &&
                       queues_.size() <= segment::Sleeper::most_words;
  if (wait_set.sleeper.counted_on(wait_set.words)) return has_all;
  wait_set.sleeper.leave();
  wait_set.owners.clear();
  for (const InOrderQueue* queue : queues_)
    if (queue->watch().word != nullptr) wait_set.owners.push_back(queue->owner());
  return has_all;
}

void Driver::sleep(WaitSet& wait_set, Doorbell& doorbell, std::uint32_t seen,
                   std::int64_t timeout_ns) const {
  doorbell.sleepers.fetch_add(1, std::memory_order_seq_cst);  // pairs with ring()
  segment::WaitPolicy policy = settings_.wait_policy;
  policy.asymmetric_fence = asymmetric_fence_.load(std::memory_order_relaxed);
  wait_set.sleeper.nap(wait_set.words, policy, timeout_ns, {&doorbell.rung, seen});
  doorbell.sleepers.fetch_sub(1, std::memory_order_relaxed);
  wait_set.words.clear();
}

void Driver::doze(WaitSet& wait_set, std::uint32_t seen, std::int64_t timeout_ns) {
  asleep_.store(true, std::memory_order_seq_cst);  // before sleep() looks at the doorbell
  sleep(wait_set, thread_doorbell_, seen, timeout_ns);
  asleep_.store(false, std::memory_order_relaxed);
}

void Driver::end_doze() {
  thread_doorbell_.rung.fetch_add(1, std::memory_order_seq_cst);  // pairs with doze()
  rouse();
}

void Driver::rouse() {
  if (asleep_.load(std::memory_order_seq_cst) && asleep_.exchange(false, std::memory_order_relaxed))
    thread_doorbell_.ring();
}

void Driver::Doorbell::ring() {
  rung.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers.load(std::memory_order_seq_cst) != 0) os::futex_wake_all(rung);
}

Driver::Wait::Wait(Driver& driver) : driver_(driver), nap_ns_(first_nap_ns) {
  driver_.waiting_.fetch_add(1, std::memory_order_seq_cst);
  seen_ = driver_.ranks_doorbell_.seen();
}

Driver::Wait::~Wait() {
  const bool last = driver_.waiting_.fetch_sub(1, std::memory_order_seq_cst) == 1;
  // A thread on this core may doze while a rank drives.
  if (last && driver_.has_thread() && !driver_.settings_.dedicated &&
      driver_.unfinished_.load(std::memory_order_seq_cst) != 0)
    driver_.end_doze();
}

bool Driver::Wait::would_sleep() const {
  const Settings& settings = driver_.settings_;
  // Where ranks share cores and the thread has one of its own, long waits without sleep would only
  // take the core from a rank that computes.
  return polls_ >= settings.wait_policy.polls &&
         (!may_yield_ ||
          yields_ >= (driver_.served() ? served_yields : settings.wait_policy.yields));
}

void Driver::Wait::step(bool may_sleep) {
  drive_or_wait(may_sleep);
  seen_ = driver_.ranks_doorbell_.seen();
}

void Driver::Wait::drive_or_wait(bool may_sleep) {
  // Another thread is about to complete what has finished, and rings no doorbell.
  const bool all_finished = driver_.unfinished_.load(std::memory_order_relaxed) == 0;
  const bool sleeps = may_sleep && !all_finished && would_sleep();
  wait_set_.words.clear();
  const bool looks = yields_ % rounds_per_look == rounds_per_look - 1 ||
                     (yields_ == 0 && polls_ % polls_per_look == polls_per_look - 1);
  bool moved = false, elsewhere = false, asks = false;
  if (driver_.driving_.try_lock()) {
    moved = driver_.round(Executor::rank, looks);
    elsewhere = driver_.elsewhere_ > 0;
    asks = driver_.asking_ > 0;
    if (!moved && sleeps && !asks) (void)driver_.make(wait_set_);
    driver_.unlock(Executor::rank);
  }
  if (moved) {
    polls_ = yields_ = 0;
    may_yield_ = true;
    nap_ns_ = first_nap_ns;
    wait_set_.leave();
    return;
  }
  if (driver_.has_finished()) return;
  if (elsewhere) driver_.rouse();
  const std::int64_t polls = driver_.settings_.wait_policy.polls;
  if (sleeps && !asks) {
    driver_.sleep(wait_set_, driver_.ranks_doorbell_, seen_, nap_ns_);
    nap_ns_ = std::min(2 * nap_ns_, longest_nap_ns);
    ++yields_;
  } else if (polls_ < (asks ? std::min(asking_polls, polls) : polls) && !elsewhere) {
    ++polls_;
    arch::relax();
  } else {
    ++yields_;
    // A yield that took long says that somebody else computes on this core: then the rank sleeps,
    // if it may. But it always yields while its own thread may need the core.
    if (may_yield_ && !elsewhere)
      may_yield_ = segment::yield(driver_.settings_.wait_policy);
    else if (asks)  // as if it slept, but nobody would wake it
      driver_.sleep(wait_set_, driver_.ranks_doorbell_, seen_, first_nap_ns);
    else
      segment::give_core();
  }
}

void Driver::allow_thread(bool on) {
  allowed_.store(on, std::memory_order_seq_cst);
  if (on) resume();
  thread_doorbell_.ring();
}

void Driver::resume() {
  if (unfinished_.load(std::memory_order_relaxed) != 0 && allowed_.load(std::memory_order_relaxed))
    start_thread();
}

void Driver::start_thread() {
  starting_.lock();
  if (has_thread_.load(std::memory_order_relaxed) && !started_.load(std::memory_order_relaxed)) {
    // Signals are for the program's own threads, but those for what a thread does itself: where
    // they are blocked the process ends, and a handler may know better.
    sigset_t all, before;
    sigfillset(&all);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) sigdelset(&all, own);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    const auto main = [](void* self) -> void* {
      static_cast<Driver*>(self)->serve();
      return nullptr;
    };
    if (::pthread_create(&thread_, nullptr, main, this) != 0) {
      log::info(
          "no progress thread could be started: nonblocking collectives go on in the rank's own "
          "calls");
      has_thread_.store(false, std::memory_order_release);
    } else {
      // Named and bound here, not by the thread itself: that may get a core late, and tools shall
      // know it by then.
      ::pthread_setname_np(thread_, "tutti-progress");
      if (settings_.cpus && !os::run_on(*settings_.cpus, thread_))
        log::info("the progress thread could not be bound");
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    started_.store(true, std::memory_order_release);
  }
  starting_.unlock();
}

void Driver::stop() {
  starting_.lock();
  if (started_.load(std::memory_order_relaxed) && has_thread_.load(std::memory_order_relaxed)) {
    stopping_.store(true, std::memory_order_seq_cst);
    thread_doorbell_.ring();
    ::pthread_join(thread_, nullptr);
    stopping_.store(false, std::memory_order_relaxed);
    started_.store(false, std::memory_order_release);
  }
  starting_.unlock();
}

// The progress thread. On a core of its own it spins for a while, and is rung when something is
// posted. On a rank's core each of its looks costs that rank as much as a short collective. There
// it looks only now and then, and what is over before a look has cost nothing. Waking it costs the
// peer, or the rank, as much. So in every second nap nobody wakes it. In the others it dozes until
// there is something to do.
void Driver::serve() {
  const bool dedicated = settings_.dedicated;
  const int spins = dedicated ? dedicated_yields : 0;
  const int naps = dedicated ? dedicated_naps_before_sleep : naps_before_sleep;
  const std::int64_t shortest_nap_ns = dedicated ? first_nap_ns : longest_nap_ns;
  WaitSet wait_set;
  std::int64_t nap_ns = shortest_nap_ns;
  int idle = 0;          // rounds without a move, but those in which it must ask again
  bool in_vain = false;  // the last nap was a doze, which nobody ended
  bool woken = false;  // or could have been, out of the last nap: by a flag, a post or a wait's end
  // The doorbell is read first. What changes after the thread has looked then rings it anew.
  for (std::uint32_t seen = thread_doorbell_.seen(); !stopping_.load(std::memory_order_relaxed);
       seen = thread_doorbell_.seen()) {
    // A rank that waits drives by itself.
    const bool driven = !wants_thread_.load(std::memory_order_relaxed) &&
                        waiting_.load(std::memory_order_seq_cst) != 0;
    const bool may = allowed_.load(std::memory_order_relaxed) && (dedicated || !driven);
    bool hears_of_all = !dedicated && driven && !woken;  // the rank tells it
    if (may && driving_.try_lock()) {
      const bool looks = idle % rounds_per_look == rounds_per_look - 1 || in_vain;
      const bool moved = round(Executor::progress, looks);
      // The peer that is waited for pays for waking this thread. So the thread sleeps on its flags
      // only when it has really waited.
      if (!moved && idle > spins && !woken && (dedicated || os::can_wait_for_several()))
        hears_of_all = make(wait_set) && !dedicated;
      if (dedicated && asking_ > 0) idle = std::min(idle, spins - 1);
      unlock(Executor::progress);
      if (moved) {
        idle = 0;
        nap_ns = shortest_nap_ns;
        wait_set.leave();
        continue;
      }
    }
    if (++idle <= spins) {
      ::sched_yield();
      continue;
    }
    const bool unfinished = unfinished_.load(std::memory_order_seq_cst) != 0 && allowed_.load();
    if (idle - spins <= naps || unfinished) {
      const bool dozes = unfinished && hears_of_all;
      woken = !dedicated && (dozes || !wait_set.words.empty());
      // What it waited for has come, or is awaited by the rank that drives.
      if (wait_set.words.empty() && (dozes || wait_set.sleeper.changed())) wait_set.leave();
      if (dozes)
        doze(wait_set, seen, doze_ns);
      else
        sleep(wait_set, thread_doorbell_, seen, nap_ns);
      in_vain = dozes && thread_doorbell_.seen() == seen && !wait_set.sleeper.changed();
      nap_ns = std::min(2 * nap_ns, longest_nap_ns);
      continue;
    }
    wait_set.leave();
    doze(wait_set, seen, sleep_ns);
    if (unfinished_.load(std::memory_order_relaxed) != 0 && allowed_.load()) {
      idle = 0;
      nap_ns = shortest_nap_ns;
    }
  }
}

}  // namespace tutti::progress
