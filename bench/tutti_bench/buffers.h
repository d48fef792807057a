// SPDX-License-Identifier: BSD-3-Clause
// The memory that calls send from and receive into, and what is written there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tutti_bench/arguments.h"
#include "tutti_bench/collectives.h"

namespace tutti::bench {

// Of the largest cache that cpu0 has a part in; 0 when the system does not say.
[[nodiscard]] std::size_t last_level_cache_bytes();

// Hot: one slot. Cold: as many as make the slots of all ranks together larger than twice the
// last-level cache, or a quarter of the machine's memory if that is less, handed out in an order
// that no prefetcher follows. A buffer is an allocation of its own, as a program's are; small ones
// share one (slab), in lines of their own.
class Buffers {
 public:
  ~Buffers();
  Buffers() = default;
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  // Writes every buffer, so that its pages exist. False: there is not that much memory.
  [[nodiscard]] bool allocate(const Arguments& arguments, const Collective& collective,
                              const Problem& problem);

  [[nodiscard]] Slot next();
  [[nodiscard]] std::size_t slots() const { return slots_; }

 private:
  struct Pair {
    std::byte* send;
    std::byte* recv;
  };
  std::vector<Pair> slabs_;
  Sizes stride_{};            // bytes from slot to slot of a slab
  std::size_t per_slab_ = 1;  // slots
  std::size_t slots_ = 0;
  std::size_t at_ = 0;
  std::size_t step_ = 1;
  bool on_heap_ = false;
  std::byte* mapped_ = nullptr;
};

// `count` elements, other ones for each seed: small whole numbers, so that sums and products of
// floats are exact in any order and results can be compared to the bit; without a pattern, so that
// blocks that change places are noticed.
void fill(const Arguments& arguments, std::byte* buffer, std::size_t count, std::uint64_t seed);

// Changes an element in each page, so that no two calls carry the same data, yet leaves the caches
// as the last call left them.
void touch(const Arguments& arguments, std::byte* buffer, std::size_t count, std::uint64_t seed);

}  // namespace tutti::bench
