// SPDX-License-Identifier: BSD-3-Clause
// The malloc family: what is large goes to the commons, everything else, and every error, to the
// allocator behind, so that errno, alignment checks and overflow checks are its own. libc's further
// functions (strdup, getline, asprintf, ...) and operator new call these.
#include <malloc.h>

#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include "base/bits.h"
#include "commons/commons.h"
#include "os/keep_errno.h"
#include "os/loads.h"
#include "preload/behind.h"
#include "preload/move.h"
#include "preload/next.h"

namespace commons = tutti::commons;
namespace preload = tutti::preload;
using preload::behind;
using preload::next;

#define TUTTI_CALLER __builtin_return_address(0)
#define TUTTI_EXPORT extern "C" [[gnu::visibility("default")]]

namespace {

bool is_served(const void* caller, std::size_t bytes) {
  return commons::may_serve(bytes) && preload::malloc_is_served() && !commons::is_apart(caller);
}

void* take(const void* caller, std::size_t bytes, std::size_t alignment = 1, bool zero = false) {
  return is_served(caller, bytes) && std::has_single_bit(alignment)
             ? commons::allocate(bytes, alignment, zero, commons::Patience::some)
             : nullptr;
}

bool overflows(std::size_t count, std::size_t bytes) {
  std::size_t product;
  return __builtin_mul_overflow(count, bytes, &product);
}

}  // namespace

TUTTI_EXPORT void* malloc(std::size_t bytes) noexcept {
  void* block = take(TUTTI_CALLER, bytes);
  return block != nullptr ? block : behind(bytes, [&] { return next.malloc(bytes); });
}

TUTTI_EXPORT void* calloc(std::size_t count, std::size_t bytes) noexcept {
  tutti::os::note_load(TUTTI_CALLER);
  if (overflows(count, bytes)) return next.calloc(count, bytes);
  void* block = take(TUTTI_CALLER, count * bytes, 1, true);
  return block != nullptr ? block
                          : behind(count * bytes, [&] { return next.calloc(count, bytes); });
}

TUTTI_EXPORT void free(void* block) noexcept {
  if (commons::owns(block)) return commons::release(block);
  if (!preload::is_early(block)) next.free(block);
}

TUTTI_EXPORT void* realloc(void* block, std::size_t bytes) noexcept {
  if (block == nullptr) {
    block = take(TUTTI_CALLER, bytes);
    return block != nullptr ? block : behind(bytes, [&] { return next.malloc(bytes); });
  }
  if (commons::owns(block)) return preload::resize_shared(block, bytes);
  if (preload::is_early(block)) return preload::resize_early(block, bytes);
  if (is_served(TUTTI_CALLER, bytes)) return preload::resize_into_shared(block, bytes);
  return behind(bytes, [&] { return next.realloc(block, bytes); });
}

TUTTI_EXPORT void* reallocarray(void* block, std::size_t count, std::size_t bytes) noexcept {
  // More than any allocator has: its ENOMEM is ours.
  return overflows(count, bytes) ? next.realloc(nullptr, SIZE_MAX) : realloc(block, count * bytes);
}

TUTTI_EXPORT void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  void* block = take(TUTTI_CALLER, bytes, alignment);
  return block != nullptr ? block : behind(bytes, [&] { return next.memalign(alignment, bytes); });
}

TUTTI_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  void* block = take(TUTTI_CALLER, bytes, alignment);
  return block != nullptr ? block
                          : behind(bytes, [&] { return next.aligned_alloc(alignment, bytes); });
}

TUTTI_EXPORT int posix_memalign(void** out, std::size_t alignment, std::size_t bytes) noexcept {
  void* block = alignment % sizeof(void*) == 0 ? take(TUTTI_CALLER, bytes, alignment) : nullptr;
  if (block != nullptr) {
    *out = block;
    return 0;
  }
  const tutti::os::KeepErrno keep;  // the code says it
  int code = 0;
  (void)behind(bytes, [&]() -> void* {
    code = next.posix_memalign(out, alignment, bytes);
    if (code == ENOMEM) errno = code;
    return code == ENOMEM ? nullptr : out;
  });
  return code;
}

TUTTI_EXPORT void* valloc(std::size_t bytes) noexcept {
  void* block = take(TUTTI_CALLER, bytes, tutti::page_bytes);
  return block != nullptr ? block : behind(bytes, [&] { return next.valloc(bytes); });
}

// Whole pages, all of which the program may use.
TUTTI_EXPORT void* pvalloc(std::size_t bytes) noexcept {
  const std::size_t whole = tutti::round_up(bytes, tutti::page_bytes);
  void* block = whole < bytes ? nullptr : take(TUTTI_CALLER, whole, tutti::page_bytes);
  return block != nullptr ? block : behind(bytes, [&] { return next.pvalloc(bytes); });
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
