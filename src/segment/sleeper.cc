// SPDX-License-Identifier: BSD-3-Clause
#include "segment/sleeper.h"

#include <algorithm>
#include <bit>

namespace tutti::segment {
namespace {

// Stands between counting oneself among the sleepers and the last look at the words.
void fence(const WaitPolicy& wait_policy) {
  if (wait_policy.asymmetric_fence)
    os::heavy_fence();  // pairs with the compiler barrier in wake()
  else
    std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the fence in wake()
}

const std::atomic<std::uint32_t>& low_half(const std::atomic<std::uint64_t>& word) {
  static_assert(std::endian::native == std::endian::little, "the futex is the word's low half");
  return reinterpret_cast<const std::atomic<std::uint32_t>&>(word);
}

}  // namespace

void Sleeper::nap(std::span<const Awaited> words, const WaitPolicy& wait_policy,
                  std::int64_t timeout_ns, const os::FutexWord& doorbell) {
  os::FutexWord futexes[os::most_futex_words] = {doorbell};
  std::size_t count = doorbell.word != nullptr ? 1 : 0;
  words = words.first(std::min(words.size(), most_words));
  if (!words.empty() && !counted_on(words)) {
    leave();
    counted_.assign(words.begin(), words.end());
    for (const Awaited& each : counted_) each.sleepers->fetch_add(1, std::memory_order_relaxed);
    fence(wait_policy);
  }
  if (count != 0 && doorbell.word->load(std::memory_order_seq_cst) != doorbell.expected) return;
  for (std::size_t i = 0; i < words.size(); ++i) {
    counted_[i] = words[i];
    // The kernel compares the low halves alone.
    if (words[i].word->load(std::memory_order_acquire) != words[i].seen) return;
    futexes[count++] = {&low_half(*words[i].word), static_cast<std::uint32_t>(words[i].seen)};
  }
  os::futex_wait_any({futexes, count}, timeout_ns);
}

void Sleeper::leave() {
  for (const Awaited& each : counted_) each.sleepers->fetch_sub(1, std::memory_order_relaxed);
  counted_.clear();
}

bool Sleeper::counted_on(std::span<const Awaited> words) const {
  words = words.first(std::min(words.size(), most_words));
  return std::equal(words.begin(), words.end(), counted_.begin(), counted_.end(),
                    [](const Awaited& a, const Awaited& b) { return a.sleepers == b.sleepers; });
}

bool Sleeper::changed() const {
  return std::any_of(counted_.begin(), counted_.end(), [](const Awaited& each) {
    return each.word->load(std::memory_order_relaxed) != each.seen;
  });
}

}  // namespace tutti::segment
