// SPDX-License-Identifier: BSD-3-Clause
// Whether a result buffer is still in some cache, guessed from when it was last a result: streaming
// stores win where it is not and lose where it is. A guess only chooses between two ways to store.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "reduce/reduce.h"

namespace tutti::engine {

class Heat {
 public:
  // `cache_bytes`: how much traffic of this rank pushes a buffer out of the last-level cache.
  explicit Heat(std::size_t cache_bytes) : cache_bytes_(cache_bytes) {}

  // To be called once a collective that writes `bytes` at `buffer`.
  [[nodiscard]] reduce::Stores stores(const void* buffer, std::size_t bytes) {
    Entry& entry = entries_[index_of(buffer)];
    const bool known = entry.buffer == buffer;
    const std::uint64_t since = traffic_ - entry.last;
    entry = {buffer, traffic_};
    traffic_ += bytes;
    return known && since > cache_bytes_ ? reduce::Stores::streaming : reduce::Stores::plain;
  }

 private:
  struct Entry {
    const void* buffer = nullptr;
    std::uint64_t last = 0;
  };
  static constexpr std::size_t entries = 1024;

  static std::size_t index_of(const void* buffer) {
    const auto page = reinterpret_cast<std::uintptr_t>(buffer) >> 12;
    return (page * 0x9e3779b97f4a7c15u) >> 54;
  }
  static_assert(entries == 1u << (64 - 54));

  std::size_t cache_bytes_;
  std::uint64_t traffic_ = 0;
  std::array<Entry, entries> entries_{};
};

}  // namespace tutti::engine
