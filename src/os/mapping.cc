// SPDX-License-Identifier: BSD-3-Clause
#include "os/mapping.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "base/bits.h"

namespace tutti::os {
namespace {

constinit std::atomic<bool> unhooked{false};

bool is_unhooked() { return unhooked.load(std::memory_order_relaxed); }

// What libraries of networks hook. The system call itself returns the same.
void* map_pages(void* at, std::size_t bytes, int protection, int flags, int fd, off_t offset) {
  if (!is_unhooked()) return ::mmap(at, bytes, protection, flags, fd, offset);
  return reinterpret_cast<void*>(::syscall(SYS_mmap, at, bytes, protection, flags, fd, offset));
}
void* move_pages(void* from, std::size_t bytes, void* to) {
  constexpr int flags = MREMAP_MAYMOVE | MREMAP_FIXED;
  if (!is_unhooked()) return ::mremap(from, bytes, bytes, flags, to);
  return reinterpret_cast<void*>(::syscall(SYS_mremap, from, bytes, bytes, flags, to));
}
int advise(void* at, std::size_t bytes, int advice) {
  if (!is_unhooked()) return ::madvise(at, bytes, advice);
  return static_cast<int>(::syscall(SYS_madvise, at, bytes, advice));
}

void* map(void* at, std::size_t bytes, int protection, int flags, int fd) {
  void* result = map_pages(at, bytes, protection, flags | MAP_NORESERVE, fd, 0);
  return result == MAP_FAILED ? nullptr : result;
}

constexpr int readable_writable = PROT_READ | PROT_WRITE;
constexpr int anonymous = MAP_PRIVATE | MAP_ANONYMOUS;

}  // namespace

void go_past_hooks() { unhooked.store(true, std::memory_order_relaxed); }
void heed_hooks() { unhooked.store(false, std::memory_order_relaxed); }

void* map_private(std::size_t bytes) {
  void* result = map(nullptr, bytes, readable_writable, anonymous, -1);
  if (result != nullptr) (void)advise(result, bytes, MADV_DONTDUMP);
  return result;
}

void* map_range(int fd, std::size_t bytes) {
  static std::atomic<std::size_t> ranges{0};
  const std::size_t wanted = ranges.fetch_add(1, std::memory_order_relaxed) * huge_page_bytes;
  std::size_t room = alias_bytes;
  auto* space = static_cast<std::byte*>(map(nullptr, bytes + room, PROT_NONE, anonymous, -1));
  if (space == nullptr) {
    room = huge_page_bytes;
    space = static_cast<std::byte*>(map(nullptr, bytes + room, PROT_NONE, anonymous, -1));
  }
  if (space == nullptr) return nullptr;
  const std::size_t before = (wanted - reinterpret_cast<std::uintptr_t>(space)) % room;
  void* result =
      map(space + before, bytes, PROT_NONE, (fd < 0 ? anonymous : MAP_SHARED) | MAP_FIXED, fd);
  if (result == nullptr) {
    unmap(space, bytes + room);
    return nullptr;
  }
  if (before > 0) unmap(space, before);
  if (before < room) unmap(space + before + bytes, room - before);
  // A core dump would otherwise fill every hole of the file in order to write it out.
  (void)advise(result, bytes, MADV_DONTDUMP);
  return result;
}

bool make_accessible(void* at, std::size_t bytes) {
  (void)advise(at, bytes, MADV_DODUMP);
  return ::mprotect(at, bytes, readable_writable) == 0;
}

void prefer_huge_pages(void* at, std::size_t bytes) { (void)advise(at, bytes, MADV_HUGEPAGE); }
void prefer_small_pages(void* at, std::size_t bytes) { (void)advise(at, bytes, MADV_NOHUGEPAGE); }

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif
// Reading maps sixteen pages of a file at a fault where they are there already, writing maps one;
// and both map them writable.
void populate_shared(void* at, std::size_t bytes) { (void)advise(at, bytes, MADV_POPULATE_READ); }

bool replace_shared(int fd, std::size_t offset, void* at, std::size_t bytes) {
  return map_pages(at, bytes, readable_writable, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd,
                   static_cast<off_t>(offset)) != MAP_FAILED;
}

bool replace_private(void* at, std::size_t bytes, bool accessible) {
  if (bytes == 0) return true;
  if (map(at, bytes, accessible ? readable_writable : PROT_NONE, anonymous | MAP_FIXED, -1) ==
      nullptr)
    return false;
  if (!accessible) (void)advise(at, bytes, MADV_DONTDUMP);
  return true;
}

// Whoever reads meanwhile sees what was there, or zeros: it is made elsewhere.
bool replace_with_zeros(void* at, std::size_t bytes) {
  if (bytes == 0) return true;
  void* zeros = map(nullptr, bytes, PROT_NONE, anonymous, -1);
  if (zeros != nullptr) {
    if (::munlock(zeros, bytes) == 0 && ::mprotect(zeros, bytes, readable_writable) == 0 &&
        move_mapping(zeros, at, bytes))
      return true;
    unmap(zeros, bytes);
  }
  return replace_private(at, bytes, true);
}

bool move_mapping(void* from, void* to, std::size_t bytes) {
  return move_pages(from, bytes, to) != MAP_FAILED;
}

void unmap(void* at, std::size_t bytes) {
  if (is_unhooked())
    (void)::syscall(SYS_munmap, at, bytes);
  else
    (void)::munmap(at, bytes);
}

// madvise and not fallocate, for two reasons: it needs no descriptor, whose number the program may
// have closed and reused for a file of its own; and the registration caches of MPI libraries hook
// madvise, so that they forget the pages.
bool drop_shared(void* at, std::size_t bytes) { return advise(at, bytes, MADV_REMOVE) == 0; }
bool hide_from_children(void* at, std::size_t bytes) {
  return advise(at, bytes, MADV_DONTFORK) == 0;
}
bool drop_private(void* at, std::size_t bytes) { return advise(at, bytes, MADV_DONTNEED) == 0; }

bool unlock(void* at, std::size_t bytes) {
  void* const probe = map(nullptr, page_bytes, readable_writable, anonymous, -1);
  if (probe == nullptr) return false;
  const bool locks_all = !drop_private(probe, page_bytes);
  unmap(probe, page_bytes);
  return !locks_all && ::munlock(at, bytes) == 0;
}

void* map_wiped_on_fork() {
  void* result = map(nullptr, page_bytes, readable_writable, anonymous, -1);
  if (result != nullptr && advise(result, page_bytes, MADV_WIPEONFORK) == 0) return result;
  if (result != nullptr) unmap(result, page_bytes);
  return nullptr;
}

}  // namespace tutti::os
