// SPDX-License-Identifier: BSD-3-Clause
// trace: what each thread did when, and on which core, for TUTTI_TRACE. A thread writes to a ring
// of its own, so that recording takes no lock. When the ring is full, what follows is only counted.
//
// A thread has spans: it waits in a collective, or brings one forward. What is between two of them
// is a span, too: the rank computes, or the progress thread is idle. A span during which the thread
// migrated counts for the core where it ended. Words: docs/glossary.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "trace/ring.h"

namespace tutti::trace {

// Switches the recording on, once a process; the caller computes from now on.
void start();
namespace detail {
inline std::atomic<bool> recording{false};
}
[[nodiscard]] inline bool on() { return detail::recording.load(std::memory_order_relaxed); }

// When and where something happens.
struct Moment {
  std::uint64_t ticks = 0;  // 0: not recorded
  std::uint16_t core = 0;
};
[[nodiscard]] Moment now();

struct Thread;

// One span of the calling thread. Inside another span it is a part of that.
class Span {
 public:
  Span(bool records, Kind kind, What what, std::uint64_t bytes) {
    if (records) [[unlikely]]
      open(kind, what, bytes);
  }
  ~Span() {
    if (thread_ != nullptr) [[unlikely]]
      close();
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

  // To be called when nothing was done: what the thread did before goes on.
  void forget();

 private:
  void open(Kind kind, What what, std::uint64_t bytes);
  void close();

  Thread* thread_ = nullptr;
  Moment begin_;
  std::uint64_t bytes_ = 0;
  Kind kind_ = Kind::computing;
  What what_ = nothing;
};

// A nonblocking collective that is over.
void add_message(What what, std::uint64_t bytes, const Moment& called, const Moment& ended);

// Everything that this process has recorded; times are ns of CLOCK_MONOTONIC.
struct Record {
  std::vector<Entry> spans, messages;
  std::uint64_t dropped = 0;
};
// Ends the recording. The progress thread has ended, and no other thread is in a span.
[[nodiscard]] Record stop();

}  // namespace tutti::trace
