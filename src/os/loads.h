// SPDX-License-Identifier: BSD-3-Clause
// Whether objects were loaded into this process since somebody looked for something among them:
// what was looked for in vain may be there now. The loader takes the memory for what it says of an
// object with calloc, which is Tutti's (preload/malloc.cc) unless another allocator comes before
// it.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace tutti::os {

// The loader's code, once watch_loads() knows it.
inline constinit std::atomic<std::uintptr_t> g_loader_begin{0}, g_loader_bytes{0};
inline constinit std::atomic<bool> g_has_loaded{true};

// To be called by calloc, with where it returns to.
inline void note_load(const void* caller) {
  const auto address = reinterpret_cast<std::uintptr_t>(caller);
  if (address - g_loader_begin.load(std::memory_order_relaxed) <
      g_loader_bytes.load(std::memory_order_relaxed)) [[unlikely]]
    g_has_loaded.store(true, std::memory_order_release);
}

// Since expect_loads(), or there is no telling.
[[nodiscard, gnu::always_inline]] inline bool has_loaded() {
  return g_has_loaded.load(std::memory_order_acquire);  // pairs with expect_loads()
}
// To be called before one looks for something. False: there is no telling, and has_loaded() stays
// true.
bool expect_loads();

// The path of a loaded object whose file's name begins so, "" for none; and whether there is one.
[[nodiscard]] std::string loaded_file(const char* beginning);
[[nodiscard]] inline bool is_loaded(const char* beginning) {
  return !loaded_file(beginning).empty();
}

// How many loads there were, as the loader counts them.
[[nodiscard]] std::uint64_t count_loads();

// From now on note_load() tells, if the process's calloc is ours.
void watch_loads();

}  // namespace tutti::os
