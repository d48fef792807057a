// SPDX-License-Identifier: BSD-3-Clause
#include "segment/wait.h"

#include <bit>

namespace tutti::segment {

void sleep(const std::atomic<std::uint64_t>& word, std::atomic<std::uint32_t>& sleepers,
           std::uint64_t seen, const Patience& patience, std::int64_t timeout_ns) {
  static_assert(std::endian::native == std::endian::little, "the futex is the word's low half");
  sleepers.fetch_add(1, std::memory_order_relaxed);
  if (patience.asymmetric_fence)
    os::heavy_fence();  // pairs with the compiler barrier in wake()
  else
    std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the fence in wake()
  if (word.load(std::memory_order_acquire) == seen)
    os::futex_wait(reinterpret_cast<const std::atomic<std::uint32_t>&>(word),
                   static_cast<std::uint32_t>(seen), timeout_ns);
  sleepers.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace tutti::segment
