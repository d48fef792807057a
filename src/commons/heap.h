// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/bits.h"
#include "commons/commons.h"
#include "commons/extents.h"
#include "commons/page_bits.h"
#include "os/mapping.h"
#include "os/memfd.h"
#include "os/mutex.h"
#include "os/occasion.h"
#include "os/program.h"

namespace tutti::commons {

using os::huge_page_bytes;

enum class Mode : std::uint8_t {
  idle,       // no large allocation yet
  shared,     // the range maps the memfd
  exclusive,  // a forked child: the range is ordinary private memory
  off,
};

// The program's static variables, and where in the file their pages are. bytes is 0 where they have
// stayed where they were.
struct Statics {
  std::byte* first = nullptr;
  std::size_t bytes = 0;
  std::size_t offset = 0;
};

// What there is to know. Of plain data, so that it is ready before any constructor, and that a fork
// copies it.
struct Heap {
  os::Mutex mutex;               // of all that follows
  std::atomic<pid_t> forker{0};  // the thread that holds the mutex across a fork
  std::atomic<Mode> mode{Mode::idle};
  const char* why_not = "nothing has been allocated";
  std::atomic<const char*> note{""};
  std::byte* base = nullptr;
  std::size_t accessible_bytes = 0;  // of the range, from its start
  int fd = -1;
  os::FileId file;
  bool huge = false;           // its large blocks ask for huge pages
  bool may_be_huge = false;    // it has some where it or the program asks for them
  const char* why_small = "";  // its file is a memfd, in which the kernel's settings decide
  Extents extents;
  PageBits populated;  // known to be there
  // sharing.cc: blocks are private memory until collectives use them.
  bool private_first = false;
  bool file_may_be_huge = false;              // the file has huge pages where it is asked to
  os::Mutex sharing;                          // of who puts pages of the file into the range
  PageBits in_file;                           // they have been
  std::atomic<std::uint64_t> file_pages{0};   // how many
  std::atomic<std::uint32_t> runs_made{0};    // of them, and asked for, since they were counted
  std::uint8_t* uses = nullptr;               // of the buffer that begins at each page
  std::atomic<std::uint64_t> born_shared{0};  // the sizes of blocks that are so from the start
  Statics statics;                            // their pages are in a block
  std::uint64_t largest_bytes = 0;            // a program would not get more at once without Tutti
  std::uint64_t allocations = 0;
  std::uint64_t most_used_pages = 0;  // at once, so far
  std::uint64_t budget_pages = 0;     // of free ones; see allowed_pages()
  std::uint64_t idle_pages = 0;       // the least that were dirty since tend() last looked,
  os::Occasion tending{1000};         // which was then
  std::atomic<const Reservation*> reservation{nullptr};
  // Reads 0 in a child that nobody told us of; null when the kernel has no such page.
  std::atomic<std::atomic<std::uint32_t>*> witness{nullptr};

  struct {
    sigset_t signals = {};   // of the forking thread
    int cancel = 0;          // its cancelability state
    int pipe[2] = {-1, -1};  // the child holds its end open until it has its copy
    bool fits = false;       // there is memory for that
  } fork;

  [[nodiscard]] std::byte* address(PageIndex page) const {
    return base + std::size_t{page} * page_bytes;
  }
};
extern constinit Heap heap;

// fork.cc: a child made by a bare system call (clone without CLONE_VM) ran no handler of ours.
[[nodiscard]] inline bool is_stray_child() {
  const auto* witness = heap.witness.load(std::memory_order_acquire);
  return witness != nullptr && witness->load(std::memory_order_relaxed) == 0;
}
// Whether it is in the midst of a fork, and has all mutexes.
[[nodiscard]] bool this_thread_forks();
// Turns this process, a child, into the owner of a private copy. Ends it if that fails.
void become_exclusive();

// Holds the mutex, and settles what others have handed over meanwhile. The thread that is forking
// holds it already: handlers of others, which may run between ours and the fork, may allocate.
class Guard {
 public:
  static constexpr std::int64_t endless = INT64_MAX;
  // Unless it is endless: is_in() only if the mutex was free within so long.
  explicit Guard(std::int64_t patience_ns = endless) {
    // Its parent did not wait, so its copy is later than it should be; but from here on they are
    // separate.
    if (is_stray_child()) [[unlikely]]
      become_exclusive();
    if (!heap.mutex.try_lock()) [[unlikely]]
      enter_slowly(patience_ns);
    if (holds_) [[likely]]
      heap.extents.settle();
  }
  ~Guard() {
    if (holds_) leave();
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  [[nodiscard]] bool is_in() const { return in_; }

  // What was handed over while the mutex was held is not left to whoever comes next.
  static void leave() {
    for (;;) {
      heap.mutex.unlock();
      if (heap.extents.is_settled() || !heap.mutex.try_lock()) return;
      heap.extents.settle();
    }
  }

 private:
  void enter_slowly(std::int64_t patience_ns);

  bool holds_ = true;
  bool in_ = true;
};

// range.cc: whether there is a range to allocate from; reserves it at the first call.
[[nodiscard]] bool ready();
// Makes the range usable up to `end` pages; with the mutex held.
[[nodiscard]] bool make_accessible(std::uint64_t end);
// Gives all dirty memory back, or what exceeds the allowance; without the mutex. For the latter
// nobody waits: it can be done later.
void purge_all();
void purge_excess();
// Copies a block that nobody uses any more, and whose pages may go back before it is released.
void move_out(PageIndex block, std::byte* to, std::size_t bytes);
// After pages have been handed out, with the mutex held.
inline void note_extremes() {
  heap.idle_pages = std::min(heap.idle_pages, heap.extents.dirty());
  heap.most_used_pages = std::max(heap.most_used_pages, heap.extents.used());
}
// How many free pages may stay dirty now, with the mutex held: as many as are in use and the
// budget. Sizes that vary leave holes between blocks, and what is in use goes up and down: the more
// there is, the more has to stay for the next block to find its pages there. But both together are
// never more than the most that was in use at once before, and a little for the holes, which the
// memory contract allows. So at its peak a program holds no more than it needs. What nobody asks
// for in a second is given back by tend().
[[nodiscard]] inline std::uint64_t allowed_pages() {
  constexpr std::uint64_t little_pages = (std::uint64_t{12} << 20) / page_bytes;
  if (heap.budget_pages == 0) return 0;
  const std::uint64_t used = heap.extents.used(), unused = heap.most_used_pages - used;
  return std::min(used + heap.budget_pages, unused + little_pages);
}
[[nodiscard]] inline bool too_much_is_dirty() { return heap.extents.dirty() > allowed_pages(); }

// huge.cc: makes the file, sets heap.fd, file, huge and why_small. False: refused.
[[nodiscard]] bool create_file(std::size_t bytes);
// What a block of `pages` is best aligned to, in pages.
[[nodiscard]] std::uint32_t best_alignment(std::uint32_t pages);
// Of a block, whose pages before `from` are resident anyway: those of the others that fill huge
// pages. Never its ends, so that no memory is taken that is not the block's.
// Where none are asked for here, the program may.
void wish_for_huge_pages(PageIndex block, std::uint32_t from, std::uint32_t pages);
// Of holes, before anybody may have them.
void wish_for_small_pages(PageIndex first, std::uint32_t pages);

// A buffer becomes shared when it is used so often. See sharing.cc.
inline constexpr std::uint8_t telling_uses = 12;
// sharing.cc, where blocks are private at first: whether those of so many bytes are not.
[[nodiscard]] bool is_born_shared(std::size_t bytes);
// What could not be moved of the block before may be in this one.
void forget_refusals(PageIndex block, std::uint32_t pages);
// Puts the file's pages, whatever they hold, into a block that is not in use yet.
[[nodiscard]] bool share_new(PageIndex block, std::uint32_t pages);
// Gives the pages of a free extent back, which is private then. False: they stay.
[[nodiscard]] bool drop(PageIndex first, std::uint32_t pages);

// populate.cc: these pages are about to become holes.
void forget_populated(PageIndex first, std::uint32_t pages);

// statics.cc: what adopt_statics() does, with any private memory.
void adopt(const os::Pages& statics);
// Gives this process, a child, static variables of its own, as they are now. False: the
// kernel refuses.
[[nodiscard]] bool make_statics_private();

// fork.cc, in a child: puts private memory with what the file has from `offset` on, or else with
// what is seen at `at`, in the place of what is mapped there.
[[nodiscard]] bool make_private(std::byte* at, std::size_t offset, std::size_t bytes);
// Reads what is not a hole in [offset, offset + bytes) of the file to `to`, where zeros
// are.
[[nodiscard]] bool read_data(std::size_t offset, std::size_t bytes, std::byte* to);

}  // namespace tutti::commons
