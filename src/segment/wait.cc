// SPDX-License-Identifier: BSD-3-Clause
#include "segment/wait.h"

#include <sched.h>

#include <algorithm>
#include <bit>
#include <chrono>

namespace tutti::segment {
namespace {

// Between counting oneself among the sleepers and the last look.
void fence(const Patience& patience) {
  if (patience.asymmetric_fence)
    os::heavy_fence();  // pairs with the compiler barrier in wake()
  else
    std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the fence in wake()
}

const std::atomic<std::uint32_t>& low_half(const std::atomic<std::uint64_t>& word) {
  static_assert(std::endian::native == std::endian::little, "the futex is the word's low half");
  return reinterpret_cast<const std::atomic<std::uint32_t>&>(word);
}

}  // namespace

std::int64_t Courtesy::now_ns() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void Courtesy::give() { ::sched_yield(); }

Courtesy& courtesy() {
  thread_local Courtesy value;
  return value;
}

void sleep(const std::atomic<std::uint64_t>& word, std::atomic<std::uint32_t>& sleepers,
           std::uint64_t seen, const Patience& patience, std::int64_t timeout_ns) {
  sleepers.fetch_add(1, std::memory_order_relaxed);
  fence(patience);
  if (word.load(std::memory_order_acquire) == seen)
    os::futex_wait(low_half(word), static_cast<std::uint32_t>(seen), timeout_ns);
  sleepers.fetch_sub(1, std::memory_order_relaxed);
}

void sleep_any(std::span<const Awaited> words, const std::atomic<std::uint32_t>& bell,
               std::uint32_t bell_seen, const Patience& patience, std::int64_t timeout_ns) {
  os::FutexWord futexes[os::most_futex_words] = {{&bell, bell_seen}};
  words = words.first(std::min(words.size(), os::most_futex_words - 1));
  for (const Awaited& awaited : words) awaited.sleepers->fetch_add(1, std::memory_order_relaxed);
  if (!words.empty()) fence(patience);
  std::size_t count = 1;
  bool changed = bell.load(std::memory_order_acquire) != bell_seen;
  for (const Awaited& awaited : words) {
    changed = changed || awaited.word->load(std::memory_order_acquire) != awaited.seen;
    futexes[count++] = {&low_half(*awaited.word), static_cast<std::uint32_t>(awaited.seen)};
  }
  if (!changed) os::futex_wait_any({futexes, count}, timeout_ns);
  for (const Awaited& awaited : words) awaited.sleepers->fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace tutti::segment
