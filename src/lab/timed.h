// SPDX-License-Identifier: BSD-3-Clause
// lab/timed: virtual time. Ranks of a machine that nobody has here run the real coroutines over
// real desks, in one thread. What they do takes as long as it would there. Events are discrete and
// nothing is drawn, so a run is always the same.
//
// The machine is that of Denis et al. 2019. It has cores, and every rank has two executors: itself,
// on an application core, and its progress thread, on some core. Its program is: call a nonblocking
// collective, compute, wait for the collective. The collective is one coroutine, which says by
// on(Executor) who runs it:
//   rank      in the call, which then does not return, or in the wait; never while it computes
//   progress  at any time
//   either    the rank in the call until there is work or something to wait for; then the progress
//             thread; and again the rank, when it waits for the collective
// A core runs one coroutine at a time, until that waits, moves away or ends; those that are ready
// come one after the other. (User-level threads do so, and operating systems where transfers are
// much shorter than time slices.) What a rank computes is not interrupted either, unless the
// machine says so. Then the progress thread goes first, as a kernel thread does that wakes from
// sleep, and communicating and computing on one core share the time as well as they can.
//
// Time passes for the rank's computation, and in pause(bytes). An algorithm awaits that after it
// has moved or computed so many bytes, in one transfer or several, and before it tells others.
// Flags take no time: at the sizes for which anybody overlaps, they are short beside transfers.
#pragma once

#include <coroutine>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <vector>

#include "lab/desks.h"
#include "lab/provider.h"

namespace tutti::lab {

struct Machine {
  int cores = 1;
  double bytes_per_ns = 1;      // copied or folded by one core
  std::int64_t latency_ns = 0;  // of each transfer
  bool interrupts = false;      // a progress thread may interrupt the rank on its core
  // How many bytes each real byte stands for, so that large messages need little memory.
  std::size_t scale = 1;
};

// Which cores a rank's two executors run on.
struct Binding {
  int rank_core = 0;
  int progress_core = 0;
};

// What each rank does.
struct Program {
  bool blocking = false;        // the rank does all of the collective itself, in the call
  std::int64_t compute_ns = 0;  // between the call and the wait
};

// What happened, for tools that draw it.
struct Trace {
  enum class Kind : std::uint8_t { computing, progress, waiting, idle };
  struct Span {
    int core, rank;  // rank -1: nobody
    Executor executor;
    Kind kind;
    std::int64_t begin_ns, end_ns;
  };
  struct Message {
    std::size_t bytes;
    int from_core, from_rank, to_core, to_rank;
    std::int64_t begin_ns, end_ns;
  };
  std::vector<Span> spans;
  std::vector<Message> messages;
};

class TimedMachine;

class TimedProvider : public MappedProvider {
 public:
  TimedProvider(TimedMachine& machine, int rank) : machine_(&machine), rank_(rank) {}

  template <class Condition>
  struct Await {
    TimedProvider& provider;
    Condition condition;
    Watch watch = {};
    bool await_ready() { return condition.poll(watch); }
    inline void await_suspend(std::coroutine_handle<> handle);
    decltype(auto) await_resume() {
      (void)condition.accept();
      return condition.resume();
    }
  };
  struct Pause {
    TimedProvider& provider;
    std::size_t bytes;
    int transfers;
    bool await_ready() const noexcept { return bytes == 0; }
    inline void await_suspend(std::coroutine_handle<> handle);
    void await_resume() const noexcept {}
  };
  struct Move {
    TimedProvider& provider;
    Executor executor;
    inline bool await_ready();
    inline void await_suspend(std::coroutine_handle<> handle);
    void await_resume() const noexcept {}
  };
  Pause pause(std::size_t bytes, int transfers) { return {*this, bytes, transfers}; }
  static void spend(std::size_t) {}  // what the paper's algorithms move is all in pause()
  Move on(Executor executor) { return {*this, executor}; }

  inline void wake(const std::atomic<std::uint64_t>& word, const std::atomic<std::uint32_t>&);
  [[nodiscard]] inline std::byte* map(int peer, const Card& card);

 private:
  TimedMachine* machine_;
  int rank_;
};

using TimedFabric = DeskFabric<TimedProvider>;
static_assert(Fabric<TimedFabric>);

class TimedMachine {
 public:
  // One binding a rank; no two ranks have the same core for themselves.
  TimedMachine(const Machine& machine, std::vector<Binding> bindings);

  [[nodiscard]] int ranks() const { return static_cast<int>(bindings_.size()); }

  // Runs the program on every rank, from time 0 on, with body(fabric) as the collective. False:
  // some wait for what cannot happen any more. The machine cannot be used again then.
  using Body = std::function<Task(TimedFabric&)>;
  [[nodiscard]] bool run(const Body& body, const Program& program);

  // The last run: when each rank was through, when all were, and what happened.
  [[nodiscard]] std::int64_t end_ns(int rank) const { return ranks_[index(rank)].end_ns; }
  [[nodiscard]] std::int64_t end_ns() const;
  [[nodiscard]] const Trace& trace() const { return trace_; }

 private:
  friend class TimedProvider;

  // Where a rank is in its program.
  enum class Phase : std::uint8_t { calling, computing, waiting, ended };
  // What its collective is doing. parked: it could go on if the rank did not compute.
  enum class State : std::uint8_t { ready, running, paused, waiting, parked, over };

  struct Rank {
    Phase phase = Phase::calling;
    std::int64_t remaining_ns = 0;  // to compute
    std::int64_t end_ns = 0;
    std::optional<Task> task;
    std::coroutine_handle<> handle;  // where the collective goes on
    State state = State::ready;
    Executor executor = Executor::either;  // who may run it
    Executor by = Executor::rank;          // who does
    std::size_t burst_bytes = 0;           // what it is paused for ...
    int burst_transfers = 0;
    bool owes_burst = false;   // ... and has still to begin
    bool handed_over = false;  // in the call, to whoever may: see either, above
    int source = -1;           // ... and from whom the bytes came; -1: itself
    // What it waits for.
    bool (*poll)(void* awaiter) = nullptr;
    void* awaiter = nullptr;
    const Watch* watch = nullptr;
  };
  struct Core {
    std::deque<int> ready;  // ranks whose collectives can go on here
    int running = -1;       // the one that does
    std::int64_t since_ns = 0;
    int computing = -1;  // the rank that has computing to do here
    bool computes = false;
    std::uint64_t turn = 0;  // of computing: the event of an interrupted turn is void
  };
  struct Event {
    std::int64_t at_ns;
    std::uint64_t order;  // first scheduled, first served
    int core;
    std::uint64_t turn;  // 0: the collective that runs there has moved its bytes
    bool operator>(const Event& other) const {
      return at_ns != other.at_ns ? at_ns > other.at_ns : order > other.order;
    }
  };

  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  [[nodiscard]] int core_of(int rank) const {
    const Binding& binding = bindings_[index(rank)];
    return ranks_[index(rank)].by == Executor::rank ? binding.rank_core : binding.progress_core;
  }

  // How long this core takes to move or fold so many bytes, from so many places. All that is to be
  // known of caches, NUMA domains and shared bandwidth belongs here.
  [[nodiscard]] std::int64_t transfer_ns(std::size_t bytes, int transfers, int core) const;

  // Called by awaiters, of the rank that runs.
  void pause(int rank, std::coroutine_handle<> handle, std::size_t bytes, int transfers);
  void wait(int rank, std::coroutine_handle<> handle, bool (*poll)(void*), void* awaiter,
            const Watch* watch);
  [[nodiscard]] bool hands_over(Rank& it) const;
  [[nodiscard]] bool stays(int rank, Executor executor);
  void move(int rank, std::coroutine_handle<> handle, Executor executor);
  void wake(const std::atomic<std::uint64_t>& word);

  void make_ready(int rank);
  void dispatch(int core);
  void go_on(int rank, int core);
  void compute(int rank);
  void end_computing(int rank);
  void start_computing(int core);
  void stop_computing(int core);
  void schedule(std::int64_t in_ns, int core, std::uint64_t turn);
  void happen(const Event& event);
  void record(int core, int rank, Executor executor, Trace::Kind kind, std::int64_t begin_ns);
  void fill_gaps();

  Machine machine_;
  std::vector<Binding> bindings_;
  VirtualDesks desks_;
  std::vector<std::unique_ptr<TimedProvider>> providers_;
  std::vector<std::unique_ptr<TimedFabric>> fabrics_;
  Program program_;
  const Body* body_ = nullptr;
  std::int64_t now_ns_ = 0;
  std::uint64_t events_ = 0;
  std::vector<Rank> ranks_;
  std::vector<Core> cores_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> future_;
  std::deque<int> stirred_;  // cores to look at
  Trace trace_;
};

template <class Condition>
void TimedProvider::Await<Condition>::await_suspend(std::coroutine_handle<> handle) {
  const auto poll = [](void* awaiter) {
    auto* self = static_cast<Await*>(awaiter);
    return self->condition.poll(self->watch);
  };
  provider.machine_->wait(provider.rank_, handle, poll, this, &watch);
}
inline void TimedProvider::Pause::await_suspend(std::coroutine_handle<> handle) {
  provider.machine_->pause(provider.rank_, handle, bytes, transfers);
}
inline bool TimedProvider::Move::await_ready() {
  return provider.machine_->stays(provider.rank_, executor);
}
inline void TimedProvider::Move::await_suspend(std::coroutine_handle<> handle) {
  provider.machine_->move(provider.rank_, handle, executor);
}
inline void TimedProvider::wake(const std::atomic<std::uint64_t>& word,
                                const std::atomic<std::uint32_t>&) {
  machine_->wake(word);
}
inline std::byte* TimedProvider::map(int peer, const Card& card) {
  machine_->ranks_[TimedMachine::index(rank_)].source = peer;
  return MappedProvider::map(peer, card);
}

}  // namespace tutti::lab
