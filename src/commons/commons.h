// SPDX-License-Identifier: BSD-3-Clause
// commons: the shared heap. Large allocations of this process live in extents of one range of
// addresses. Its pages are those of one file in memory, all of them or, where they are small, those
// of buffers that collectives use. A peer that maps the file reaches them at
// `peer_base + (address - base)`. Knows nothing of malloc's name: preload/ forwards to it.
// docs/commons.md explains how it works and what it costs. Words: docs/glossary.md.
//
// Safe from the first instruction of the process: nothing here calls malloc, throws, or needs a
// constructor to have run. All functions may be called from any thread, and keep errno.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tutti::commons {

namespace detail {
// What the two questions that every malloc and free asks need. Until the first large allocation the
// range is empty and the threshold is the least possible one.
inline constinit std::atomic<std::size_t> threshold{4096};
inline constinit std::atomic<std::uintptr_t> base{0};
inline constinit std::atomic<std::size_t> bytes{0};
// Code that allocates for itself alone.
inline constinit std::atomic<std::uintptr_t> apart{0};
inline constinit std::atomic<std::size_t> apart_bytes{0};
// How often pages have become holes.
inline constinit std::atomic<std::uint64_t> punches{0};
// Somebody may know pages by more than their addresses.
inline constinit std::atomic<bool> pages_are_known{false};
}  // namespace detail

// What this code allocates is no buffer of the program's, and not served: that of the MPI, whose
// pools are large, and mostly untouched.
inline void keep_apart(std::uintptr_t code, std::size_t bytes) {
  detail::apart_bytes.store(0, std::memory_order_relaxed);
  detail::apart.store(code, std::memory_order_relaxed);
  detail::apart_bytes.store(bytes, std::memory_order_relaxed);
}
[[nodiscard]] inline bool is_apart(const void* caller) {
  return reinterpret_cast<std::uintptr_t>(caller) - detail::apart.load(std::memory_order_relaxed) <
         detail::apart_bytes.load(std::memory_order_relaxed);
}

// False: allocate() of so many bytes returns nullptr.
[[nodiscard]] inline bool may_serve(std::size_t bytes) {
  return bytes >= detail::threshold.load(std::memory_order_relaxed);
}

// Whether to wait for a thread that the kernel has interrupted while it had the bookkeeping: `all`,
// or `some`, for about as long as to touch the block takes at least.
enum class Patience { all, some };

// A block of at least `bytes`, aligned to `alignment` (a power of two; a page at least is given),
// zeroed when `zero`. nullptr: not served here (below the threshold, switched off, range or memory
// exhausted, no more patience), and the caller asks libc. Freed pages may be handed out again with
// their old contents unless `zero`.
[[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment, bool zero,
                             Patience patience = Patience::all);

// Whether `address` lies in the range of the commons of this process (allocated or not).
[[nodiscard]] inline bool owns(const void* address) {
  // Pairs with the store when the range is made: with its length comes its base.
  const std::size_t bytes = detail::bytes.load(std::memory_order_acquire);
  return reinterpret_cast<std::uintptr_t>(address) - detail::base.load(std::memory_order_relaxed) <
         bytes;
}

// Of an address that the range owns, from the range's start.
[[nodiscard]] inline std::size_t offset_of(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) - detail::base.load(std::memory_order_relaxed);
}

// The next four take only addresses that allocate() returned and release() has not taken back; any
// other address of the range ends the process with a message.

// Never waits: if another thread has the bookkeeping, that thread takes the block back.
void release(void* block);
[[nodiscard]] std::size_t usable_bytes(const void* block);

// Grows or shrinks without moving, into the block's own slack or free neighbours. False: `block`
// is unchanged, and the caller moves it.
[[nodiscard]] bool resize_in_place(void* block, std::size_t bytes,
                                   Patience patience = Patience::all);

// Like realloc for a block of the commons: in place if possible, else moved to a new block with
// slack behind it. nullptr, and `block` unchanged: so many bytes are not for the commons (less than
// half of the threshold, so that a block whose size varies about the threshold stays where it is),
// or range or memory are exhausted, or patience is.
[[nodiscard]] void* resize(void* block, std::size_t bytes, Patience patience = Patience::all);

// Gives all free memory back to the kernel.
void trim();
// Gives back what nothing has asked for in a second. To be called now and then; mostly a look at
// the clock.
void tend();

// How long the range is: 0 before the first large allocation, and less once some was given up.
[[nodiscard]] inline std::size_t reserved_bytes() {
  return detail::bytes.load(std::memory_order_relaxed);
}

// Gives up, for good, what is reserved and not in use, as the program needs it. Only under a limit
// of address space, or of private memory where blocks are private, and if `bytes` are within that
// limit. False: nothing was given up.
[[nodiscard]] bool yield_address_space(std::size_t bytes);

// What a peer needs to map this process's commons. `fd` is -1 while nothing can be shared:
// switched off, or this is a forked child, whose blocks are private copies of its parent's.
struct Handle {
  int fd = -1;
  const std::byte* base = nullptr;
  std::size_t bytes = 0;
  const char* why_not = "";  // a literal, when fd is -1
};
// Reserves the range if no allocation has done so yet.
[[nodiscard]] Handle handle();

// Where in the range peers that map handle().fd find all of [address, address + bytes), which is a
// block, or static variables after adopt_statics(). nullptr: not there.
[[nodiscard]] const std::byte* shared(const void* address, std::size_t bytes);

// The same of a buffer of a collective that this process is in. Where blocks are private until they
// are used, its pages become shared when it has been offered often enough (sharing.cc). `full`:
// every byte of it belongs to the collective, so that nobody else may write to one. To be called
// before any peer knows where the buffer is in this call.
[[nodiscard]] const std::byte* offer(const void* buffer, std::size_t bytes, bool full = true);
// From now on what is private stays so: devices may know where pages are.
inline void let_pages_stay() { detail::pages_are_known.store(true, std::memory_order_relaxed); }

// Gives pages to what has none yet of a buffer that peers are about to write to: on this thread's
// NUMA node, by its policy, and charged to its cgroup, where otherwise they would be those of the
// peer. Nothing happens where the buffer is not shared. Linux 5.14; before, as without it.
void populate(const void* address, std::size_t bytes);

// As long as this is the same, what was populated still is. The holder of the buffer may ask.
[[nodiscard]] inline std::uint64_t populated_since() {
  return detail::punches.load(std::memory_order_relaxed);
}

// Puts the static variables of the main program (its .bss, if it is as large as the options say)
// into the commons, at their own addresses. owns() stays false for them: they are nobody's to free.
// To be called once, early: it does nothing when the process has more than one thread, or when
// Tutti itself is among them.
void adopt_statics();

// Why large blocks have no huge pages, unless the kernel's settings give them; "" where they have.
[[nodiscard]] const char* why_small_pages();

struct Stats {
  std::uint64_t blocks;         // live
  std::uint64_t bytes;          // of the live blocks, as asked for, rounded to pages
  std::uint64_t resident_free;  // freed bytes kept for reuse
  std::uint64_t in_file;        // bytes, of blocks and free ones, that are the file's
  std::uint64_t allocations;    // since the process began
};
[[nodiscard]] Stats stats();

// Forks are watched from the first large allocation on. A front end that comes to life earlier
// calls this, so that a child gets its copy before anybody's pthread_atfork handler runs in the
// parent (these run in the order of their registration).
void watch_forks();

// Processes that fork at the same time must have memory for all of their children's copies.
// reserve() is asked by a parent before the fork, and waits as long as others are copying that
// leave too little; false: there will not be so much. release(): the copy is made, or is not to be.
// Both are called with the heap locked, and must not allocate from it.
struct Reservation {
  bool (*reserve)(std::uint64_t bytes) = nullptr;
  void (*release)() = nullptr;
};
// Until then each process looks for itself. What it refers to lives as long as the process.
void reserve_with(const Reservation& reservation);

// For those who call the kernel's fork without pthread_atfork handlers (_Fork): before_fork() in
// the parent, then one of the others on each side.
void before_fork();
void after_fork_in_parent();
void after_fork_in_child();

// One clause for the user on who does not allocate here, and why; the text must live on. "" if
// nobody has said any.
void note(const char* clause);
[[nodiscard]] const char* noted();

// Walks every extent and list. For tests and debug levels; takes the lock.
[[nodiscard]] bool is_valid();

}  // namespace tutti::commons
