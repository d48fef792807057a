// SPDX-License-Identifier: BSD-3-Clause
// Blocks of malloc that are given to functions of the allocator's own, and the other way round, as
// programs do that know which allocator they have: by weak references. Built a second time without
// any (NAMES_NONE), it takes malloc's family only. Its arguments: "commons" or "plain", where large
// blocks must lie, and "look" if it is to do no more than look there.
#include <malloc.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <new>

#include "check.h"

namespace {

constexpr std::size_t large = 1 << 20;

template <class T>
T opaque(T value) {
  asm volatile("" : "+r"(value));
  return value;
}

using Give = void* (*)(std::size_t);
using Take = void (*)(void*, std::size_t bytes);
using Measure = std::size_t (*)(const void*);
using Move = void* (*)(void*, std::size_t bytes);

template <class Function, std::size_t most>
struct List {
  Function all[most] = {};
  std::size_t count = 0;
  void add(bool is_there, Function function) {
    if (is_there) all[count++] = function;
  }
  Function* begin() { return all; }
  Function* end() { return all + count; }
};
List<Give, 32> gives;
List<Take, 32> takes;
List<Measure, 16> measures;
List<Move, 16> moves;

}  // namespace

#ifndef NAMES_NONE
extern "C" {
// jemalloc
[[gnu::weak]] void* mallocx(std::size_t, int);
[[gnu::weak]] void* rallocx(void*, std::size_t, int);
[[gnu::weak]] std::size_t xallocx(void*, std::size_t, std::size_t, int);
[[gnu::weak]] std::size_t sallocx(const void*, int);
[[gnu::weak]] void dallocx(void*, int);
[[gnu::weak]] void sdallocx(void*, std::size_t, int);
// tcmalloc
[[gnu::weak]] void* tc_malloc(std::size_t);
[[gnu::weak]] void* tc_new(std::size_t);
[[gnu::weak]] void* tc_realloc(void*, std::size_t);
[[gnu::weak]] void tc_free(void*);
[[gnu::weak]] void tc_free_sized(void*, std::size_t);
[[gnu::weak]] void tc_delete(void*);
[[gnu::weak]] void tc_deletearray(void*);
[[gnu::weak]] void tc_delete_sized(void*, std::size_t);
[[gnu::weak]] std::size_t tc_malloc_size(void*);
[[gnu::weak]] std::size_t MallocExtension_GetAllocatedSize(const void*);
// mimalloc
[[gnu::weak]] void* mi_malloc(std::size_t);
[[gnu::weak]] void* mi_new(std::size_t);
[[gnu::weak]] void* mi_realloc(void*, std::size_t);
[[gnu::weak]] void* mi_expand(void*, std::size_t);
[[gnu::weak]] void* mi_rezalloc(void*, std::size_t);
[[gnu::weak]] void mi_free(void*);
[[gnu::weak]] void mi_free_size(void*, std::size_t);
[[gnu::weak]] std::size_t mi_usable_size(const void*);
[[gnu::weak]] std::size_t mi_malloc_size(const void*);
[[gnu::weak]] bool mi_is_in_heap_region(const void*);
// several
[[gnu::weak]] std::size_t malloc_size(const void*);
[[gnu::weak]] void* reallocf(void*, std::size_t);
[[gnu::weak]] void vfree(void*);
[[gnu::weak]] void __libc_free(void*);
[[gnu::weak]] void* __libc_realloc(void*, std::size_t);
}

namespace {

void name_them() {
  gives.add(mallocx, [](std::size_t n) { return mallocx(n, 0); });
  moves.add(rallocx, [](void* p, std::size_t n) { return rallocx(p, n, 0); });
  moves.add(xallocx, [](void* p, std::size_t n) {
    return xallocx(p, n, 0, 0) >= n ? p : std::realloc(p, n);
  });
  measures.add(sallocx, [](const void* p) { return sallocx(p, 0); });
  takes.add(dallocx, [](void* p, std::size_t) { dallocx(p, 0); });
  takes.add(sdallocx, [](void* p, std::size_t n) { sdallocx(p, n, 0); });

  gives.add(tc_malloc, tc_malloc);
  gives.add(tc_new, tc_new);
  moves.add(tc_realloc, tc_realloc);
  takes.add(tc_free, [](void* p, std::size_t) { tc_free(p); });
  takes.add(tc_free_sized, tc_free_sized);
  takes.add(tc_delete, [](void* p, std::size_t) { tc_delete(p); });
  takes.add(tc_deletearray, [](void* p, std::size_t) { tc_deletearray(p); });
  takes.add(tc_delete_sized, tc_delete_sized);
  measures.add(tc_malloc_size, [](const void* p) { return tc_malloc_size(const_cast<void*>(p)); });
  measures.add(MallocExtension_GetAllocatedSize, MallocExtension_GetAllocatedSize);

  gives.add(mi_malloc, mi_malloc);
  gives.add(mi_new, mi_new);
  moves.add(mi_realloc, mi_realloc);
  moves.add(mi_rezalloc, mi_rezalloc);
  moves.add(mi_expand, [](void* p, std::size_t n) {
    return mi_expand(p, n) != nullptr ? p : std::realloc(p, n);
  });
  takes.add(mi_free, [](void* p, std::size_t) { mi_free(p); });
  takes.add(mi_free_size, mi_free_size);
  measures.add(mi_usable_size, mi_usable_size);
  measures.add(mi_malloc_size, mi_malloc_size);
  measures.add(mi_is_in_heap_region,
               [](const void* p) { return mi_is_in_heap_region(p) ? 2 * large : 0; });

  measures.add(malloc_size, malloc_size);
  moves.add(reallocf, reallocf);
  takes.add(vfree, [](void* p, std::size_t) { vfree(p); });
  // What is there beside another allocator that does not have it, is libc's and for its own blocks.
  const bool only_libc = mallocx == nullptr && tc_malloc == nullptr && mi_malloc == nullptr;
  takes.add(__libc_free != nullptr && only_libc, [](void* p, std::size_t) { __libc_free(p); });
  moves.add(__libc_realloc != nullptr && only_libc, __libc_realloc);

  gives.add(true, [](std::size_t n) { return ::operator new(n); });
  gives.add(true, [](std::size_t n) -> void* { return new char[n]; });
  takes.add(true, [](void* p, std::size_t) { ::operator delete(p); });
  takes.add(true, [](void* p, std::size_t) { ::operator delete[](p); });
  takes.add(true, [](void* p, std::size_t n) { ::operator delete(p, n); });
  takes.add(true, [](void* p, std::size_t) { ::operator delete(p, std::align_val_t{16}); });
}

}  // namespace
#else
namespace {
void name_them() {}
}  // namespace
#endif

namespace {

// In C23, and in some libraries before it is in glibc; with malloc's names.
extern "C" {
[[gnu::weak]] void free_sized(void*, std::size_t);
[[gnu::weak]] void free_aligned_sized(void*, std::size_t, std::size_t);
}

void list() {
  gives.add(true, std::malloc);
  gives.add(true, [](std::size_t n) { return std::calloc(n, 1); });
  gives.add(true, [](std::size_t n) { return std::realloc(nullptr, n); });
  gives.add(true, [](std::size_t n) { return reallocarray(nullptr, n / 16, 16); });
  gives.add(true, [](std::size_t n) { return aligned_alloc(4096, n); });
  gives.add(true, [](std::size_t n) { return memalign(64, n); });
  takes.add(true, [](void* p, std::size_t) { std::free(p); });
  takes.add(free_sized, free_sized);
  takes.add(free_aligned_sized, [](void* p, std::size_t n) { free_aligned_sized(p, 16, n); });
  measures.add(true, [](const void* p) { return malloc_usable_size(const_cast<void*>(p)); });
  moves.add(true, std::realloc);
  moves.add(true, [](void* p, std::size_t n) { return reallocarray(p, n / 16, 16); });
  name_them();
}

void check_block(Give give, Move move, Take take, std::size_t bytes) {
  auto* block = static_cast<unsigned char*>(opaque(give(bytes)));
  CHECK(block != nullptr);
  std::memset(block, 0x5a, bytes);
  for (const Measure measure : measures) CHECK(measure(block) >= bytes);
  block = static_cast<unsigned char*>(opaque(move(block, 2 * bytes)));
  CHECK(block != nullptr && block[0] == 0x5a && block[bytes - 1] == 0x5a);
  for (const Measure measure : measures) CHECK(measure(block) >= 2 * bytes);
  std::memset(block, 0xa5, 2 * bytes);
  take(block, 2 * bytes);
}

}  // namespace

int main(int argc, char** argv) {
  CHECK(argc >= 2);
  void* block = opaque(std::malloc(large));
  CHECK(lies_in_commons(block) == (std::strcmp(argv[1], "commons") == 0));
  std::free(block);
  if (argc > 2) return 0;
  list();
  for (const std::size_t bytes : {std::size_t{64}, std::size_t{40'000}, large})
    for (const Give give : gives)
      for (const Move move : moves)
        for (const Take take : takes) check_block(give, move, take, bytes);
  std::printf("all is well with %zu, %zu, %zu and %zu functions\n", gives.count, moves.count,
              takes.count, measures.count);
}
