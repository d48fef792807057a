// SPDX-License-Identifier: BSD-3-Clause
// How many objects were loaded into this process: what was looked for in vain may be there when the
// number has changed. The loader takes the memory for what it says of an object with calloc, which
// is Tutti's (preload/malloc.cc) unless another allocator comes before it.
#pragma once

#include <atomic>
#include <cstdint>

namespace tutti::os {

// The loader's code, once watch_loads() knows it.
inline constinit std::atomic<std::uintptr_t> g_loader_begin{0}, g_loader_bytes{0};
inline constinit std::atomic<std::uint64_t> g_loads{1};
inline constinit std::atomic<bool> g_loads_are_seen{false};

// To be called by calloc, with where it returns to.
inline void note_load(const void* caller) {
  const auto address = reinterpret_cast<std::uintptr_t>(caller);
  if (address - g_loader_begin.load(std::memory_order_relaxed) <
      g_loader_bytes.load(std::memory_order_relaxed)) [[unlikely]]
    g_loads.fetch_add(1, std::memory_order_release);
}

[[nodiscard]] std::uint64_t count_loads();  // asks the loader
[[nodiscard]] inline std::uint64_t loads() {
  return g_loads_are_seen.load(std::memory_order_relaxed) ? g_loads.load(std::memory_order_acquire)
                                                          : count_loads();
}

// From now on loads() costs nothing, if the process's calloc is ours.
void watch_loads();

}  // namespace tutti::os
