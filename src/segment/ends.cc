// SPDX-License-Identifier: BSD-3-Clause
#include "segment/ends.h"

#include <linux/futex.h>

#include <algorithm>

namespace tutti::segment {
namespace {

// What is seen in the presence of a member whose end will wake who sleeps on it; 0: it has ended,
// or left. As pthread_mutex_lock() would do, which knows only one.
std::uint32_t ask_to_be_woken(const std::atomic<std::uint32_t>& presence) {
  auto& word = const_cast<std::atomic<std::uint32_t>&>(presence);
  std::uint32_t seen = word.load(std::memory_order_relaxed);
  do {
    if ((seen & FUTEX_TID_MASK) == 0 || (seen & FUTEX_OWNER_DIED) != 0) return 0;
  } while ((seen & FUTEX_WAITERS) == 0 &&
           !word.compare_exchange_weak(seen, seen | FUTEX_WAITERS, std::memory_order_relaxed));
  return seen | FUTEX_WAITERS;
}

}  // namespace

Ends::Ends(Segment& segment, int self, int members)
    : segment_(segment),
      self_(self),
      known_(std::min(static_cast<std::size_t>(members), static_cast<std::size_t>(most_members))) {
  known_[static_cast<std::size_t>(self)] = true;
}

int Ends::next() {
  told_ = segment_.ends_told().load(std::memory_order_acquire);
  for (std::size_t member = 0; member < known_.size(); ++member) {
    const auto rank = static_cast<int>(member);
    if (known_[member] || !Segment::marked_as_ended(segment_.presence(rank))) continue;
    known_[member] = true;
    segment_.tell_of_end(rank);
    return rank;
  }
  return -1;
}

// On large nodes a thread sleeps on the members after its own alone, and hears of the others.
void Ends::wait(const os::FutexWord& bell, std::int64_t timeout_ns) {
  os::FutexWord words[os::most_futex_words] = {bell, {&segment_.ends_told(), told_}};
  std::size_t count = 2;
  for (std::size_t i = 1; i < known_.size() && count < os::most_futex_words; ++i) {
    const std::size_t member = (static_cast<std::size_t>(self_) + i) % known_.size();
    const auto& presence = segment_.presence(static_cast<int>(member));
    if (known_[member]) continue;
    if (const std::uint32_t seen = ask_to_be_woken(presence))
      words[count++] = {&presence, seen};
    else if (Segment::marked_as_ended(presence))
      return;
  }
  os::futex_wait_any({words, count}, timeout_ns);
}

}  // namespace tutti::segment
