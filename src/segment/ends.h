// SPDX-License-Identifier: BSD-3-Clause
// Whose threads have ended, of the members that have signed in to a segment: without looking again
// and again. When a thread ends, or calls exec, the kernel marks its member's presence, which is a
// robust mutex, and wakes one thread that sleeps on it: that one tells the others.
#pragma once

#include <cstdint>
#include <vector>

#include "os/futex.h"
#include "segment/segment.h"

namespace tutti::segment {

// One thread at a time may use it.
class Ends {
 public:
  // As long as `segment` is there. `self` is no news.
  Ends(Segment& segment, int self, int members);

  // A member whose thread has ended, each once; -1: no other.
  [[nodiscard]] int next();
  // Sleeps until next() may have one, `bell` is no longer what is expected, or `timeout_ns` have
  // passed.
  void wait(const os::FutexWord& bell, std::int64_t timeout_ns);

 private:
  Segment& segment_;
  int self_;
  std::vector<bool> known_;
  std::uint32_t told_ = 0;  // before next() looked
};

}  // namespace tutti::segment
