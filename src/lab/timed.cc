// SPDX-License-Identifier: BSD-3-Clause
#include "lab/timed.h"

#include <cmath>

namespace tutti::lab {

TimedMachine::TimedMachine(const Machine& machine, std::vector<Binding> bindings)
    : machine_(machine), bindings_(std::move(bindings)), desks_(ranks()) {
  for (int rank = 0; rank < ranks(); ++rank) {
    providers_.push_back(std::make_unique<TimedProvider>(*this, rank));
    fabrics_.push_back(std::make_unique<TimedFabric>(*providers_.back(), desks_.all(), rank));
  }
}

std::int64_t TimedMachine::transfer_ns(std::size_t bytes, int transfers, int) const {
  const auto whole = static_cast<double>(bytes) * static_cast<double>(machine_.scale);
  return transfers * machine_.latency_ns + std::llround(whole / machine_.bytes_per_ns);
}

bool TimedMachine::run(const Body& body, const Program& program) {
  program_ = program;
  body_ = &body;
  now_ns_ = 0;
  trace_ = {};
  ranks_ = std::vector<Rank>(bindings_.size());
  cores_ = std::vector<Core>(index(machine_.cores));
  for (int rank = 0; rank < ranks(); ++rank) make_ready(rank);
  for (;;) {
    while (!stirred_.empty()) {
      const int core = stirred_.front();
      stirred_.pop_front();
      dispatch(core);
    }
    if (future_.empty()) break;
    const Event event = future_.top();
    future_.pop();
    now_ns_ = event.at_ns;
    happen(event);
  }
  fill_gaps();
  for (const Rank& rank : ranks_)
    if (rank.phase != Phase::ended) return false;
  return true;
}

std::int64_t TimedMachine::end_ns() const {
  std::int64_t last = 0;
  for (const Rank& rank : ranks_) last = std::max(last, rank.end_ns);
  return last;
}

void TimedMachine::happen(const Event& event) {
  Core& core = cores_[index(event.core)];
  if (event.turn != 0) {
    if (!core.computes || event.turn != core.turn) return;  // it was interrupted
    const int rank = core.computing;
    stop_computing(event.core);
    end_computing(rank);
    return;
  }
  const int rank = core.running;
  Rank& it = ranks_[index(rank)];
  record(event.core, rank, it.by, Trace::Kind::progress, core.since_ns);
  if (it.source >= 0 && it.source != rank)
    trace_.messages.push_back({it.burst_bytes * machine_.scale, core_of(it.source), it.source,
                               event.core, rank, core.since_ns, now_ns_});
  it.source = -1;
  if (it.executor == Executor::either && it.phase == Phase::waiting && it.by != Executor::rank) {
    core.running = -1;
    make_ready(rank);  // the rank has come meanwhile
  } else {
    go_on(rank, event.core);
  }
  stirred_.push_back(event.core);
}

// A coroutine keeps its core from one pause to the next.
void TimedMachine::dispatch(int c) {
  Core& core = cores_[index(c)];
  if (core.computes && !machine_.interrupts) return;
  while (core.running < 0 && !core.ready.empty()) {
    const int rank = core.ready.front();
    core.ready.pop_front();
    stop_computing(c);
    go_on(rank, c);
  }
  if (core.running < 0) start_computing(c);
}

void TimedMachine::go_on(int rank, int c) {
  Core& core = cores_[index(c)];
  Rank& it = ranks_[index(rank)];
  core.running = rank;
  if (std::exchange(it.owes_burst, false)) {
    it.state = State::paused;
  } else {
    it.state = State::running;
    if (it.task)
      it.handle.resume();
    else
      it.task.emplace((*body_)(*fabrics_[index(rank)]));
  }
  if (it.state == State::paused) {
    core.since_ns = now_ns_;
    schedule(transfer_ns(it.burst_bytes, it.burst_transfers, c), c, 0);
    return;
  }
  core.running = -1;
  if (it.state == State::running) it.state = State::over;
  const bool over = it.state == State::over;
  const bool left = it.executor == Executor::progress || it.handed_over;
  if (it.phase == Phase::calling && (over || left)) {
    compute(rank);
  } else if (it.phase == Phase::waiting && over) {
    it.phase = Phase::ended;
    it.end_ns = now_ns_;
  }
}

void TimedMachine::pause(int rank, std::coroutine_handle<> handle, std::size_t bytes,
                         int transfers) {
  Rank& it = ranks_[index(rank)];
  it.handle = handle;
  it.state = State::paused;
  it.burst_bytes = bytes;
  it.burst_transfers = transfers;
  if (hands_over(it)) {
    it.owes_burst = true;
    make_ready(rank);
  }
}

// In a nonblocking call, work that either executor may do is left to the progress thread.
bool TimedMachine::hands_over(Rank& it) const {
  if (it.phase != Phase::calling || it.executor != Executor::either || program_.blocking)
    return false;
  it.handed_over = true;
  return true;
}

void TimedMachine::wait(int rank, std::coroutine_handle<> handle, bool (*poll)(void*),
                        void* awaiter, const Watch* watch) {
  Rank& it = ranks_[index(rank)];
  it.handle = handle;
  it.state = State::waiting;
  it.poll = poll;
  it.awaiter = awaiter;
  it.watch = watch;
  (void)hands_over(it);
}

bool TimedMachine::stays(int rank, Executor executor) {
  Rank& it = ranks_[index(rank)];
  if (program_.blocking) return true;
  if (executor != Executor::either && executor != it.by) return false;
  it.executor = executor;
  return true;
}

void TimedMachine::move(int rank, std::coroutine_handle<> handle, Executor executor) {
  Rank& it = ranks_[index(rank)];
  it.handle = handle;
  it.executor = executor;
  make_ready(rank);
}

void TimedMachine::wake(const std::atomic<std::uint64_t>& word) {
  for (int rank = 0; rank < ranks(); ++rank) {
    Rank& it = ranks_[index(rank)];
    if (it.state == State::waiting && it.watch->word == &word && it.poll(it.awaiter))
      make_ready(rank);
  }
}

void TimedMachine::make_ready(int rank) {
  Rank& it = ranks_[index(rank)];
  const bool computes = it.phase == Phase::computing;
  const bool called = it.phase == Phase::calling && it.handed_over;
  it.by = it.executor != Executor::either ? it.executor
          : computes || called            ? Executor::progress
                                          : Executor::rank;
  if (it.by == Executor::rank && computes) {
    it.state = State::parked;
    return;
  }
  it.state = State::ready;
  const int core = core_of(rank);
  cores_[index(core)].ready.push_back(rank);
  stirred_.push_back(core);
}

void TimedMachine::compute(int rank) {
  Rank& it = ranks_[index(rank)];
  it.phase = Phase::computing;
  it.remaining_ns = program_.compute_ns;
  if (it.remaining_ns == 0) return end_computing(rank);
  const int core = bindings_[index(rank)].rank_core;
  cores_[index(core)].computing = rank;
  stirred_.push_back(core);
}

void TimedMachine::end_computing(int rank) {
  Rank& it = ranks_[index(rank)];
  const int core = bindings_[index(rank)].rank_core;
  cores_[index(core)].computing = -1;
  stirred_.push_back(core);
  it.phase = Phase::waiting;
  if (it.state == State::over) {
    it.phase = Phase::ended;
    it.end_ns = now_ns_;
  } else if (it.state == State::parked) {
    make_ready(rank);
  } else if (it.state == State::ready && it.executor == Executor::either) {
    std::erase(cores_[index(core_of(rank))].ready, rank);
    make_ready(rank);
  }
}

void TimedMachine::start_computing(int c) {
  Core& core = cores_[index(c)];
  if (core.computing < 0 || core.computes) return;
  core.computes = true;
  core.since_ns = now_ns_;
  schedule(ranks_[index(core.computing)].remaining_ns, c, ++core.turn);
}

void TimedMachine::stop_computing(int c) {
  Core& core = cores_[index(c)];
  if (!core.computes) return;
  core.computes = false;
  ranks_[index(core.computing)].remaining_ns -= now_ns_ - core.since_ns;
  record(c, core.computing, Executor::rank, Trace::Kind::computing, core.since_ns);
}

void TimedMachine::schedule(std::int64_t in_ns, int core, std::uint64_t turn) {
  future_.push({now_ns_ + in_ns, ++events_, core, turn});
}

void TimedMachine::record(int core, int rank, Executor executor, Trace::Kind kind,
                          std::int64_t begin_ns) {
  if (begin_ns == now_ns_) return;
  trace_.spans.push_back({core, rank, executor, kind, begin_ns, now_ns_});
}

// A rank without anything to do polls; a core without a rank has nothing to do.
void TimedMachine::fill_gaps() {
  std::vector<int> owner(cores_.size(), -1);
  for (int rank = 0; rank < ranks(); ++rank) owner[index(bindings_[index(rank)].rank_core)] = rank;
  std::stable_sort(trace_.spans.begin(), trace_.spans.end(), [](const auto& a, const auto& b) {
    return a.core != b.core ? a.core < b.core : a.begin_ns < b.begin_ns;
  });
  std::vector<Trace::Span> all;
  std::size_t next = 0;
  for (int core = 0; core < machine_.cores; ++core) {
    const int rank = owner[index(core)];
    std::int64_t until = 0;
    const auto gap = [&](std::int64_t end) {
      if (end > until)
        all.push_back({core, rank, rank < 0 ? Executor::progress : Executor::rank,
                       rank < 0 ? Trace::Kind::idle : Trace::Kind::waiting, until, end});
    };
    for (; next < trace_.spans.size() && trace_.spans[next].core == core; ++next) {
      const Trace::Span& span = trace_.spans[next];
      gap(span.begin_ns);
      until = span.end_ns;
      if (!all.empty() && all.back().core == core && all.back().rank == span.rank &&
          all.back().kind == span.kind && all.back().executor == span.executor &&
          all.back().end_ns == span.begin_ns)
        all.back().end_ns = span.end_ns;
      else
        all.push_back(span);
    }
    gap(now_ns_);
  }
  trace_.spans = std::move(all);
}

}  // namespace tutti::lab
