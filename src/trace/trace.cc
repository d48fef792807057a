// SPDX-License-Identifier: BSD-3-Clause
#include "trace/trace.h"

#include <sched.h>

#include <algorithm>
#include <new>

#include "arch/arch.h"
#include "os/clock.h"
#include "os/mapping.h"

namespace tutti::trace {

// Never freed: it is read when its thread may be gone.
struct Thread {
  Ring ring;
  Kind between;                  // what it does when it has no span
  Moment since;                  // the end of its last span
  std::uint64_t last_brief = 0;  // the end of the last test that was left out
  bool in_span = false;
  Thread* next = nullptr;
};

namespace {

constexpr std::size_t ring_entries = std::size_t{64} << 10;
// A program that makes and ends threads all the time must not fill the memory: later ones are only
// counted.
constexpr int most_threads = 64;
// In ticks, of which a processor makes 2 to 4 in a ns. What is between two spans and shorter is a
// part of the later one.
constexpr std::uint64_t shortest_pause = 500;
// A test that found nothing and was over sooner is a part of what the thread did around it, or a
// program that tests now and then would fill its ring; but one that does nothing else waits.
constexpr std::uint64_t brief_test = 2500;

std::atomic<Thread*> g_threads{nullptr};  // the latest first
std::atomic<int> g_thread_count{0};
std::atomic<std::uint64_t> g_without_ring{0};  // spans and messages of later threads
thread_local Thread* t_thread = nullptr;

// The same moment on both clocks.
struct Instant {
  std::uint64_t ticks = 0;
  std::uint64_t ns = 0;
};
Instant g_started;

Instant instant() {
  Instant best;
  std::uint64_t shortest = ~std::uint64_t{0};
  for (int attempt = 0; attempt < 10; ++attempt) {  // the thread may lose its core in between
    const std::uint64_t before = arch::ticks();
    const std::int64_t now_ns = os::now_ns();
    const std::uint64_t after = arch::ticks();
    if (after - before >= shortest) continue;
    shortest = after - before;
    best = {before + shortest / 2, static_cast<std::uint64_t>(now_ns)};
  }
  return best;
}

// The calling thread's; nullptr when there are too many.
Thread* thread(Kind between, const Moment& since) {
  if (t_thread != nullptr) [[likely]]
    return t_thread;
  if (g_thread_count.load(std::memory_order_relaxed) >= most_threads ||
      g_thread_count.fetch_add(1, std::memory_order_relaxed) >= most_threads)
    return nullptr;
  constexpr std::size_t bytes = ring_entries * sizeof(Entry);
  auto* entries = static_cast<Entry*>(os::map_private(bytes));
  auto* made = entries == nullptr ? nullptr
                                  : new (std::nothrow)
                                        Thread{Ring({entries, ring_entries}), between, since};
  if (made == nullptr) return nullptr;
  made->next = g_threads.load(std::memory_order_relaxed);
  while (!g_threads.compare_exchange_weak(made->next, made, std::memory_order_release,
                                          std::memory_order_relaxed)) {
  }
  return t_thread = made;
}

// What the thread did since its last span.
void end_pause(Thread& thread, const Moment& until) {
  thread.ring.add({.begin = thread.since.ticks,
                   .end = until.ticks,
                   .core = until.core,
                   .kind = thread.between,
                   .what = nothing});
  thread.since = until;
}

class Clock {
 public:
  Clock() {
    const Instant ended = instant();
    if (ended.ticks > g_started.ticks)
      ns_per_tick_ = static_cast<double>(ended.ns - g_started.ns) /
                     static_cast<double>(ended.ticks - g_started.ticks);
  }
  [[nodiscard]] std::uint64_t ns(std::uint64_t ticks) const {
    // Signed: what was called before the start.
    const auto passed = static_cast<std::int64_t>(ticks - g_started.ticks);
    return g_started.ns + static_cast<std::uint64_t>(static_cast<std::int64_t>(
                              static_cast<double>(passed) * ns_per_tick_));
  }

 private:
  double ns_per_tick_ = 1;
};

}  // namespace

Moment now() { return {arch::ticks(), static_cast<std::uint16_t>(std::max(0, ::sched_getcpu()))}; }

void start() {
  static std::atomic<bool> begun{false};
  if (begun.exchange(true)) return;
  g_started = instant();
  (void)thread(Kind::computing, {g_started.ticks});
  detail::recording.store(true, std::memory_order_release);
}

void Span::open(Kind kind, What what, std::uint64_t bytes) {
  begin_ = now();
  Thread* mine = thread(kind == Kind::progress ? Kind::idle : Kind::computing, begin_);
  if (mine == nullptr) {
    g_without_ring.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (mine->in_span) return;
  mine->in_span = true;
  begin_.ticks = std::max(begin_.ticks, mine->since.ticks);  // cores may differ by some ticks
  thread_ = mine;
  kind_ = kind;
  what_ = what;
  bytes_ = bytes;
}

void Span::forget() {
  if (thread_ != nullptr) thread_->in_span = false;
  thread_ = nullptr;
}

void Span::close() {
  Thread& mine = *thread_;
  Moment end = now();
  end.ticks = std::max(end.ticks, begin_.ticks);
  mine.in_span = false;
  if (what_ == test) {
    const bool brief = end.ticks - begin_.ticks < brief_test;
    const bool again = begin_.ticks - mine.last_brief < shortest_pause;
    if (brief) mine.last_brief = end.ticks;
    if (brief && !again) return;
  }
  if (begin_.ticks - mine.since.ticks >= shortest_pause) end_pause(mine, begin_);
  mine.ring.add({.begin = mine.since.ticks,
                 .end = end.ticks,
                 .bytes = bytes_,
                 .core = end.core,
                 .kind = kind_,
                 .what = what_});
  mine.since = end;
}

void add_message(What what, std::uint64_t bytes, const Moment& called, const Moment& ended) {
  if (called.ticks == 0 || ended.ticks == 0) return;
  Thread* mine = thread(Kind::computing, ended);
  if (mine == nullptr) {
    g_without_ring.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  mine->ring.add({.begin = called.ticks,
                  .end = ended.ticks,
                  .bytes = bytes,
                  .core = ended.core,
                  .from_core = called.core,
                  .kind = Kind::message,
                  .what = what});
}

Record stop() {
  detail::recording.store(false, std::memory_order_relaxed);
  Record record;
  const Moment end = now();
  const Clock clock;
  record.dropped = g_without_ring.load(std::memory_order_relaxed);
  for (Thread* each = g_threads.load(std::memory_order_acquire); each != nullptr;
       each = each->next) {
    // Of the program's other threads nobody knows whether they are still there.
    if (each == t_thread) end_pause(*each, end);
    if (each->between == Kind::idle) end_pause(*each, {end.ticks, each->since.core});
    for (Entry entry : each->ring.entries()) {
      entry.begin = clock.ns(entry.begin);
      entry.end = std::max(entry.begin, clock.ns(entry.end));
      (entry.kind == Kind::message ? record.messages : record.spans).push_back(entry);
      // Where a rank waits in a collective, that is the message, too.
      if (entry.kind != Kind::waiting || !is_collective(entry.what)) continue;
      entry.kind = Kind::message;
      entry.from_core = entry.core;
      record.messages.push_back(entry);
    }
    record.dropped += each->ring.dropped();
  }
  return record;
}

}  // namespace tutti::trace
