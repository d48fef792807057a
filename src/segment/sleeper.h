// SPDX-License-Identifier: BSD-3-Clause
// Sleeping until a word of shared memory changes, or one of several, which may be of different
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

// A word to sleep on, and the count of those who do on its desk.
struct Awaited {
  const std::atomic<std::uint64_t>* word;
  std::atomic<std::uint32_t>* sleepers;
  std::uint64_t seen;
};

// The sleep of one wait, nap after nap. The first nap on the words of a desk counts this thread
// there and makes the fence, which interrupts every core that runs a member. The thread stays
// counted until the wait is over, so that the naps that follow interrupt nobody.
//
// Why one fence is enough: wake() stores the word, then loads `sleepers`; this counts, then looks
// at the word; in between is a fence on either side. A wake() that is on the far side of the fence
// has stored the word before any nap looks at it. Each that comes after it finds the count, as long
// as the thread is counted, and calls the kernel. There a nap compares the word anew under the lock
// that the waker takes as well: it sees the store, or is asleep and woken.
//
// The price: who changes a word of that desk calls the kernel also while this thread is awake
// between two naps, which is not for long.
class Sleeper {
 public:
  Sleeper() = default;
  ~Sleeper() { leave(); }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  // Until one of the words is no longer what was seen, `bell` is no longer what is expected (if
  // there is one), or `timeout_ns` have passed. A nap without words leaves this thread counted.
  void nap(std::span<const Awaited> words, const Patience& patience, std::int64_t timeout_ns,
           const os::FutexWord& bell = {});
  // The wait is over, or the words are about to go.
  void leave();

  // Whether this thread is counted on the desks of these words and on no other.
  [[nodiscard]] bool counted_on(std::span<const Awaited> words) const;
  // Whether a word that it was counted for has changed.
  [[nodiscard]] bool changed() const;

 private:
  static constexpr std::size_t most_words = os::most_futex_words - 1;  // the rest is not looked at

  std::vector<Awaited> counted_;
};

}  // namespace tutti::segment
