// SPDX-License-Identifier: BSD-3-Clause
// Sleeping on a word of shared memory until another process changes it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti::os {

// Sleeps while `word` holds `expected`, for at most `timeout_ns`; may also return early.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                std::int64_t timeout_ns);
// The same for several words at once.
struct FutexWord {
  const std::atomic<std::uint32_t>* word;
  std::uint32_t expected;
};
inline constexpr std::size_t most_futex_words = 128;  // the rest is not looked at
void futex_wait_any(std::span<const FutexWord> words, std::int64_t timeout_ns);
// Whether that hears of more than the first word. Kernels before 5.16 cannot, and some containers
// forbid it: it then does not sleep for long.
[[nodiscard]] bool can_wait_for_several();
void futex_wake_all(const std::atomic<std::uint32_t>& word);

// An asymmetric fence between processes (membarrier): the rare side calls heavy_fence(), and the
// frequent side pays nothing but a compiler barrier. Both sides must have called
// enable_asymmetric_fence() with success; otherwise each must use a full fence of its own.
[[nodiscard]] bool enable_asymmetric_fence();
void heavy_fence();

}  // namespace tutti::os
