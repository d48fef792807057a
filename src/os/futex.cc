// SPDX-License-Identifier: BSD-3-Clause
#include "os/futex.h"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace tutti::os {
namespace {

constexpr std::int64_t second_ns = 1'000'000'000;
constexpr std::int64_t longest_blind_ns = 200'000;  // without a look at the other words

// futex_waitv(2): headers have it from Linux 5.16 on. Its number is that of x86-64 and aarch64.
constexpr long futex_waitv = 449;
constexpr std::uint32_t word_of_32_bits = 2;
struct Wait {
  std::uint64_t expected, word;
  std::uint32_t flags, reserved;
};
static_assert(sizeof(Wait) == 24);

}  // namespace

void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                std::int64_t timeout_ns) {
  const timespec timeout{timeout_ns / second_ns, timeout_ns % second_ns};
  ::syscall(SYS_futex, &word, FUTEX_WAIT, expected, &timeout, nullptr, 0);
}

void futex_wait_any(std::span<const FutexWord> words, std::int64_t timeout_ns) {
  if (words.size() == 1) return futex_wait(*words[0].word, words[0].expected, timeout_ns);
  Wait waits[most_futex_words];
  const std::size_t count = std::min(words.size(), most_futex_words);
  for (std::size_t i = 0; i < count; ++i)
    waits[i] = {words[i].expected, reinterpret_cast<std::uint64_t>(words[i].word), word_of_32_bits,
                0};
  timespec until{};
  ::clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += (until.tv_nsec + timeout_ns) / second_ns;
  until.tv_nsec = (until.tv_nsec + timeout_ns) % second_ns;
  if (::syscall(futex_waitv, waits, count, 0, &until, CLOCK_MONOTONIC) >= 0) return;
  if (errno == ENOSYS || errno == EPERM)
    futex_wait(*words[0].word, words[0].expected, std::min(timeout_ns, longest_blind_ns));
}

bool can_wait_for_several() {
  return ::syscall(futex_waitv, nullptr, 0, 0, nullptr, 0) >= 0 || errno == EINVAL;
}

void futex_wake_all(const std::atomic<std::uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

bool enable_asymmetric_fence() {
  return ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
}

void heavy_fence() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  ::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
}

}  // namespace tutti::os
