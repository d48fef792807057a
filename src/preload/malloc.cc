// SPDX-License-Identifier: BSD-3-Clause
// The malloc family: what is large goes to the commons, everything else, and every error, to the
// allocator behind, so that errno, alignment checks and overflow checks are its own. libc's further
// functions (strdup, getline, asprintf, ...) and operator new call these.
#include <malloc.h>

#include <bit>
#include <cstdint>
#include <cstdlib>

#include "commons/commons.h"
#include "os/loads.h"
#include "preload/move.h"
#include "preload/next.h"

namespace commons = tutti::commons;
namespace preload = tutti::preload;
using preload::next;

#define TUTTI_EXPORT extern "C" [[gnu::visibility("default")]]

namespace {

bool is_served(std::size_t bytes) {
  return commons::may_serve(bytes) && preload::malloc_is_served();
}

void* take(std::size_t bytes, std::size_t alignment = 1, bool zero = false) {
  return is_served(bytes) && std::has_single_bit(alignment)
             ? commons::allocate(bytes, alignment, zero)
             : nullptr;
}

bool overflows(std::size_t count, std::size_t bytes) {
  std::size_t product;
  return __builtin_mul_overflow(count, bytes, &product);
}

constexpr std::size_t page = 4096;

}  // namespace

TUTTI_EXPORT void* malloc(std::size_t bytes) noexcept {
  void* block = take(bytes);
  return block != nullptr ? block : next.malloc(bytes);
}

TUTTI_EXPORT void* calloc(std::size_t count, std::size_t bytes) noexcept {
  tutti::os::note_load(__builtin_return_address(0));
  void* block = overflows(count, bytes) ? nullptr : take(count * bytes, 1, true);
  return block != nullptr ? block : next.calloc(count, bytes);
}

TUTTI_EXPORT void free(void* block) noexcept {
  if (commons::owns(block)) return commons::release(block);
  if (!preload::is_early(block)) next.free(block);
}

TUTTI_EXPORT void* realloc(void* block, std::size_t bytes) noexcept {
  if (block == nullptr) return malloc(bytes);
  if (commons::owns(block)) return preload::resize_shared(block, bytes);
  if (preload::is_early(block)) return preload::resize_early(block, bytes);
  return is_served(bytes) ? preload::resize_into_shared(block, bytes) : next.realloc(block, bytes);
}

TUTTI_EXPORT void* reallocarray(void* block, std::size_t count, std::size_t bytes) noexcept {
  // More than any allocator has: its ENOMEM is ours.
  return overflows(count, bytes) ? next.realloc(nullptr, SIZE_MAX) : realloc(block, count * bytes);
}

TUTTI_EXPORT void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  void* block = take(bytes, alignment);
  return block != nullptr ? block : next.memalign(alignment, bytes);
}

TUTTI_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  void* block = take(bytes, alignment);
  return block != nullptr ? block : next.aligned_alloc(alignment, bytes);
}

TUTTI_EXPORT int posix_memalign(void** out, std::size_t alignment, std::size_t bytes) noexcept {
  void* block = alignment % sizeof(void*) == 0 ? take(bytes, alignment) : nullptr;
  if (block == nullptr) return next.posix_memalign(out, alignment, bytes);
  *out = block;
  return 0;
}

TUTTI_EXPORT void* valloc(std::size_t bytes) noexcept {
  void* block = take(bytes, page);
  return block != nullptr ? block : next.valloc(bytes);
}

TUTTI_EXPORT void* pvalloc(std::size_t bytes) noexcept {
  void* block = take(bytes, page);
  return block != nullptr ? block : next.pvalloc(bytes);
}

TUTTI_EXPORT std::size_t malloc_usable_size(void* block) noexcept {
  if (commons::owns(block)) return commons::usable_bytes(block);
  return preload::is_early(block) ? preload::early_bytes(block) : next.malloc_usable_size(block);
}

TUTTI_EXPORT int malloc_trim(std::size_t pad) noexcept {
  commons::trim();
  return next.malloc_trim(pad);
}

// Old programs still call it; glibc has it for them only.
TUTTI_EXPORT void cfree(void* block) noexcept { free(block); }

// C23; glibc has them from 2.43 on. Sizes and alignments are those of the block, by contract.
TUTTI_EXPORT void free_sized(void* block, std::size_t) noexcept { free(block); }
TUTTI_EXPORT void free_aligned_sized(void* block, std::size_t, std::size_t) noexcept {
  free(block);
}
