// SPDX-License-Identifier: BSD-3-Clause
// The allocator behind ours: libc's, or one that is preloaded or linked besides (jemalloc,
// tcmalloc, a sanitizer's). It is found by dlsym at the first call of any of these functions; what
// dlsym itself allocates meanwhile comes from a small static buffer.
#pragma once

#include <atomic>
#include <cstddef>

namespace tutti::preload {

struct Next {
  void* (*malloc)(std::size_t);
  void* (*calloc)(std::size_t, std::size_t);
  void* (*realloc)(void*, std::size_t);
  void (*free)(void*);
  void* (*memalign)(std::size_t, std::size_t);
  void* (*aligned_alloc)(std::size_t, std::size_t);
  int (*posix_memalign)(void**, std::size_t, std::size_t);
  void* (*valloc)(std::size_t);
  void* (*pvalloc)(std::size_t);
  std::size_t (*malloc_usable_size)(void*);
  int (*malloc_trim)(std::size_t);
  int (*fork)();  // _Fork; called only by programs whose libc has it
  // Whether malloc_usable_size is of the same allocator as the others; some have none.
  bool tells_sizes = false;
};
// Until the first call, each entry finds them all and then calls what it has found.
extern constinit Next next;

// Whether the commons serves malloc: not where its blocks may be handed to functions of the
// allocator behind (bypass.h), unless TUTTI_COMMONS_MALLOC says so. Known when `next` is; until the
// first call it is found out here.
enum class Served : int { unknown, no, yes };
extern constinit std::atomic<Served> g_served;
[[nodiscard]] bool find_out_whether_served();
[[nodiscard]] inline bool malloc_is_served() {
  const Served served = g_served.load(std::memory_order_relaxed);
  return served == Served::yes || (served == Served::unknown && find_out_whether_served());
}

// Blocks of the static buffer. They are few, small and never reused.
[[nodiscard]] bool is_early(const void* block);
[[nodiscard]] std::size_t early_bytes(const void* block);

}  // namespace tutti::preload
