// SPDX-License-Identifier: BSD-3-Clause
// Sleeping until a word of shared memory changes, or one of several. The words may be of different
// desks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "os/futex.h"
#include "segment/wait.h"

namespace tutti::segment {

// A word to sleep on, and the counter of those who sleep on words of its desk.
struct Awaited {
  const std::atomic<std::uint64_t>* word;
  std::atomic<std::uint32_t>* sleepers;
  std::uint64_t seen;
};

// The sleep of one wait, nap after nap. The first nap on the words of a desk counts this thread
// there and makes the fence, which interrupts every core that runs a member. The thread stays
// counted until the wait is over, so that the naps that follow interrupt nobody.
//
// Why one fence is enough. wake() stores the word, then loads `sleepers`. A nap counts this thread,
// then looks at the word. There is a fence between the two on either side. A wake() before the
// fence has stored the word before any nap looks at it. A wake() after the fence finds the count,
// as long as the thread is counted, and calls the kernel. There a nap compares the word anew, under
// the lock that the waker takes as well: it sees the store, or it is asleep and woken.
//
// The price: a member that changes a word of that desk also calls the kernel while this thread is
// awake between two naps. That is not for long.
class Sleeper {
 public:
  static constexpr std::size_t most_words = os::most_futex_words - 1;  // the rest is not looked at

  Sleeper() = default;
  ~Sleeper() { leave(); }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  // Sleeps until one of the words is no longer what was seen, `doorbell` is no longer what is
  // expected (if there is one), or `timeout_ns` have passed. A nap without words leaves this thread
  // counted.
  void nap(std::span<const Awaited> words, const WaitPolicy& wait_policy, std::int64_t timeout_ns,
           const os::FutexWord& doorbell = {});
  // To be called when the wait is over, or the words are about to go.
  void leave();

  // Whether this thread is counted on the desks of these words and on no other.
  [[nodiscard]] bool counted_on(std::span<const Awaited> words) const;
  // Whether a word that it was counted for has changed.
  [[nodiscard]] bool changed() const;

 private:
  std::vector<Awaited> counted_;
};

}  // namespace tutti::segment
