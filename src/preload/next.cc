// SPDX-License-Identifier: BSD-3-Clause
#include "preload/next.h"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/base.h"
#include "commons/commons.h"
#include "os/affinity.h"
#include "os/references.h"
#include "preload/bypass.h"

namespace tutti::preload {
namespace {

constexpr std::size_t early_alignment = 16;
alignas(early_alignment) std::byte early_buffer[16384];
std::atomic<std::size_t> early_used{0};

// Zeroed; its size stands in the 16 bytes before it.
void* early_malloc(std::size_t bytes) {
  const std::size_t whole = round_up(bytes, early_alignment) + early_alignment;
  const std::size_t at = early_used.fetch_add(whole, std::memory_order_relaxed);
  if (whole < bytes || at + whole > sizeof early_buffer) return nullptr;
  std::byte* block = early_buffer + at + early_alignment;
  *reinterpret_cast<std::size_t*>(block - early_alignment) = bytes;
  return block;
}

template <class Function>
void find(Function& function, const char* name) {
  if (void* found = ::dlsym(RTLD_NEXT, name)) function = reinterpret_cast<Function>(found);
}

// Where the functions behind are, before all may know.
constinit Next found{};

bool is_to_be_served() {
  if (std::strcmp(options().commons_malloc, "always") == 0) return true;
  if (std::strcmp(options().commons_malloc, "never") == 0) {
    commons::note("TUTTI_COMMONS_MALLOC is never: malloc is not served by the commons");
    return false;
  }
  const char* bypass = find_bypass(found.free);
  if (bypass == nullptr) return true;
  static char why[256];
  std::snprintf(why, sizeof why,
                "the program may hand blocks of malloc to %.100s, so malloc is not served by the "
                "commons; TUTTI_COMMONS_MALLOC=always if it does not",
                bypass);
  commons::note(why);
  return false;
}

// The allocations before main, and before anybody can have started a thread, end here: the first
// one after libc has found the environment, and with it our options.
void begin() {
  static std::atomic<bool> begun{false};
  if (!options_are_there() || begun.exchange(true)) return;
  found.tells_sizes = os::object_with(reinterpret_cast<const void*>(found.realloc))
                          .holds(reinterpret_cast<const void*>(found.malloc_usable_size));
  next = found;
  os::note_home_cpus();  // no OpenMP runtime has come so far
  g_served.store(is_to_be_served() ? Served::yes : Served::no, std::memory_order_relaxed);
  commons::adopt_statics();
}

// Null inside the very search, which the first allocation of a process makes.
const Next* resolve() {
  enum : int { not_begun, searching, done };
  static std::atomic<int> state{not_begun};
  int expected = not_begun;
  if (!state.compare_exchange_strong(expected, searching)) {
    if (expected != done) return nullptr;
    begin();
    return &found;
  }
#define TUTTI_FIND(name) find(found.name, #name)
  TUTTI_FIND(malloc);
  TUTTI_FIND(calloc);
  TUTTI_FIND(realloc);
  TUTTI_FIND(free);
  TUTTI_FIND(memalign);
  TUTTI_FIND(aligned_alloc);
  TUTTI_FIND(posix_memalign);
  TUTTI_FIND(valloc);
  TUTTI_FIND(pvalloc);
  TUTTI_FIND(malloc_usable_size);
  TUTTI_FIND(malloc_trim);
#undef TUTTI_FIND
  find(found.fork, "_Fork");
  if (found.malloc == nullptr || found.free == nullptr) {
    log::fatal("no malloc is found behind that of Tutti");
    ::_exit(127);
  }
  state.store(done);
  commons::watch_forks();
  begin();
  return &found;
}

// Each entry of the table before begin(). During the search dlsym may ask for small zeroed blocks;
// nothing else.
void* first_malloc(std::size_t bytes) {
  const Next* behind = resolve();
  return behind != nullptr ? behind->malloc(bytes) : early_malloc(bytes);
}
void* first_calloc(std::size_t count, std::size_t bytes) {
  const Next* behind = resolve();
  return behind != nullptr ? behind->calloc(count, bytes) : early_malloc(count * bytes);
}
void* first_realloc(void* block, std::size_t bytes) {
  const Next* behind = resolve();
  return behind != nullptr ? behind->realloc(block, bytes) : nullptr;
}
void first_free(void* block) {
  const Next* behind = resolve();
  if (behind != nullptr) behind->free(block);
}
void* first_memalign(std::size_t alignment, std::size_t bytes) {
  const Next* behind = resolve();
  return behind != nullptr ? behind->memalign(alignment, bytes) : nullptr;
}
void* first_aligned_alloc(std::size_t alignment, std::size_t bytes) {
  const Next* behind = resolve();
  return behind != nullptr ? behind->aligned_alloc(alignment, bytes) : nullptr;
}
int first_posix_memalign(void** block, std::size_t alignment, std::size_t bytes) {
  const Next* behind = resolve();
  return behind != nullptr ? behind->posix_memalign(block, alignment, bytes) : ENOMEM;
}
void* first_valloc(std::size_t bytes) {
  const Next* behind = resolve();
  return behind != nullptr ? behind->valloc(bytes) : nullptr;
}
void* first_pvalloc(std::size_t bytes) {
  const Next* behind = resolve();
  return behind != nullptr ? behind->pvalloc(bytes) : nullptr;
}
std::size_t first_malloc_usable_size(void* block) {
  const Next* behind = resolve();
  return behind != nullptr ? behind->malloc_usable_size(block) : 0;
}
int first_malloc_trim(std::size_t pad) {
  const Next* behind = resolve();
  return behind != nullptr ? behind->malloc_trim(pad) : 0;
}
int first_fork() {
  const Next* behind = resolve();
  return behind != nullptr ? behind->fork() : -1;
}

}  // namespace

constinit Next next = {
    first_malloc,         first_calloc,
    first_realloc,        first_free,
    first_memalign,       first_aligned_alloc,
    first_posix_memalign, first_valloc,
    first_pvalloc,        first_malloc_usable_size,
    first_malloc_trim,    first_fork,
};

constinit std::atomic<Served> g_served{Served::unknown};

bool find_out_whether_served() {
  (void)resolve();
  return g_served.load(std::memory_order_relaxed) == Served::yes;
}

bool is_early(const void* block) {
  return static_cast<std::size_t>(static_cast<const std::byte*>(block) - early_buffer) <
         sizeof early_buffer;
}

std::size_t early_bytes(const void* block) {
  return *reinterpret_cast<const std::size_t*>(static_cast<const std::byte*>(block) -
                                               early_alignment);
}

}  // namespace tutti::preload
