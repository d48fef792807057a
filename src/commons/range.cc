// SPDX-License-Identifier: BSD-3-Clause
// The range: reserved once, opened step by step, given back piece by piece.
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/base.h"
#include "commons/commons.h"
#include "commons/heap.h"
#include "commons/off.h"
#include "os/keep_errno.h"
#include "os/limits.h"
#include "os/mapping.h"
#include "os/uncancelled.h"

namespace tutti::commons {

constinit Heap heap;

namespace {

constexpr std::uint64_t least_range_bytes = std::uint64_t{4} << 20;
constexpr std::uint64_t most_range_bytes = std::uint64_t{8} << 40;  // 2^31 pages
// Each rank of a node maps the ranges of all the others: 256 ranks of these fit an address space.
constexpr std::uint64_t most_default_bytes = std::uint64_t{256} << 30;
// Only what is in use is accessible: mlockall() and core dumps would fill the rest.
constexpr std::uint64_t step_bytes = std::uint64_t{64} << 20;

// What is moved goes back piece by piece if it has so many bytes: of less, the pages are of use to
// the next block.
constexpr std::size_t least_given_back_bytes = std::size_t{16} << 20;
constexpr std::uint64_t most_ahead_pages = (std::uint64_t{512} << 10) / page_bytes;
// So much stays free however long nobody asks for it, unless the budget is smaller.
constexpr std::uint64_t kept_pages = (std::uint64_t{2} << 20) / page_bytes;

// A power of two, and no more than the limits leave room for: most of the address space remains for
// everyone else, and a file beyond RLIMIT_FSIZE would end the process. RLIMIT_DATA bounds private
// memory. The bookkeeping is that: the longer the range, the more of it.
std::uint64_t first_range_to_try() {
  std::uint64_t bytes = options().commons_range;
  if (bytes == 0) bytes = std::min(4 * os::physical_memory_bytes(), most_default_bytes);
  bytes = std::bit_ceil(std::clamp(bytes, least_range_bytes, most_range_bytes));
  const std::uint64_t most =
      std::min({os::address_space_limit_bytes() / 4, os::file_size_limit_bytes(),
                os::private_memory_limit_bytes()});
  return std::min(bytes, std::bit_floor(most));
}

// Everything of `bytes`, or nothing.
const char* reserve(std::uint64_t bytes) {
  const std::uint64_t pages = bytes / page_bytes;
  // The map, and behind it two bits and a byte a page.
  const std::size_t bits_bytes = round_up(pages / 8, page_bytes);
  const std::size_t map_bytes = pages * sizeof(Page) + 2 * bits_bytes + round_up(pages, page_bytes);
  auto* map = static_cast<Page*>(os::map_private(map_bytes));
  if (map == nullptr) return "no address space";
  const char* failure = "no file in memory";
  if (create_file(bytes)) {
    failure = "no address space";
    void* base = os::map_range(heap.private_first ? -1 : heap.fd, bytes);
    if (base != nullptr) {
      heap.base = static_cast<std::byte*>(base);
      auto* const bits = reinterpret_cast<std::byte*>(map + pages);
      heap.populated.start(reinterpret_cast<std::atomic<std::uint64_t>*>(bits));
      heap.in_file.start(reinterpret_cast<std::atomic<std::uint64_t>*>(bits + bits_bytes));
      heap.uses = reinterpret_cast<std::uint8_t*>(bits + 2 * bits_bytes);
      heap.extents.start(map, static_cast<std::uint32_t>(pages),
                         reinterpret_cast<std::uintptr_t>(base) / page_bytes);
      wish_for_small_pages(0, static_cast<std::uint32_t>(pages));
      return nullptr;
    }
    ::close(std::exchange(heap.fd, -1));
  }
  os::unmap(map, map_bytes);
  return failure;
}

const char* reserve_what_fits() {
  if (const char* why = why_off()) return why;
  const char* failure = "no address space";
  for (std::uint64_t bytes = first_range_to_try(); bytes >= least_range_bytes; bytes /= 2) {
    failure = reserve(bytes);
    if (failure == nullptr) return nullptr;
  }
  return failure;
}

void open_for_business() {
  heap.largest_bytes = os::promise_limit_bytes();
  heap.budget_pages = options().commons_budget / page_bytes;
  if (auto* witness = static_cast<std::atomic<std::uint32_t>*>(os::map_wiped_on_fork())) {
    witness->store(1, std::memory_order_relaxed);
    heap.witness.store(witness, std::memory_order_release);  // pairs with is_stray_child()
  }
  heap.why_not = "";
  detail::threshold.store(std::max<std::size_t>(options().commons_threshold, page_bytes),
                          std::memory_order_relaxed);
  detail::base.store(reinterpret_cast<std::uintptr_t>(heap.base), std::memory_order_relaxed);
  detail::bytes.store(std::size_t{heap.extents.pages()} * page_bytes,
                      std::memory_order_release);            // pairs with owns()
  heap.mode.store(Mode::shared, std::memory_order_release);  // pairs with ready()
}

}  // namespace

bool ready() {
  // Pairs with the store at the end of open_for_business().
  const Mode mode = heap.mode.load(std::memory_order_acquire);
  if (mode != Mode::idle) [[likely]]
    return mode != Mode::off;
  // The dynamic linker allocates before libc has found the environment, and with it our options.
  if (!options_are_there()) return false;
  const os::Uncancelled uncancelled;
  watch_forks();
  const Guard guard;
  if (heap.mode.load(std::memory_order_relaxed) != Mode::idle)
    return heap.mode.load(std::memory_order_relaxed) != Mode::off;
  if (const char* why = reserve_what_fits()) {
    heap.why_not = why;
    detail::threshold.store(SIZE_MAX, std::memory_order_relaxed);
    heap.mode.store(Mode::off, std::memory_order_release);
    return false;
  }
  open_for_business();
  return true;
}

bool make_accessible(std::uint64_t end) {
  const std::uint64_t end_bytes = end * page_bytes;
  if (end_bytes <= heap.accessible_bytes) return true;
  const std::uint64_t all = std::uint64_t{heap.extents.pages()} * page_bytes;
  const std::uint64_t until = std::min(all, round_up(end_bytes, step_bytes));
  if (!os::make_accessible(heap.base + heap.accessible_bytes, until - heap.accessible_bytes))
    return false;
  heap.accessible_bytes = until;
  return true;
}

bool yield_address_space(std::size_t bytes_wanted) {
  const os::KeepErrno keep;
  const Mode mode = heap.mode.load(std::memory_order_acquire);
  if (mode != Mode::shared && mode != Mode::exclusive) return false;
  std::uint64_t limit = os::address_space_limit_bytes();
  if (mode == Mode::exclusive || heap.private_first)
    limit = std::min(limit, os::private_memory_limit_bytes());
  if (limit == os::unlimited || bytes_wanted > limit) return false;
  purge_all();
  const Guard guard;
  const std::size_t before = std::size_t{heap.extents.pages()} * page_bytes;
  const std::size_t bytes =
      std::size_t{heap.extents.cut_tail(huge_page_bytes / page_bytes)} * page_bytes;
  if (bytes == before) return false;
  detail::bytes.store(bytes, std::memory_order_relaxed);
  heap.accessible_bytes = std::min(heap.accessible_bytes, bytes);
  os::unmap(heap.base + bytes, before - bytes);
  return true;
}

namespace {

// Gives the pages back. Whoever calls this sees to it that nobody uses them.
bool punch(PageIndex first, std::uint32_t pages, bool exclusive) {
  const std::size_t bytes = std::size_t{pages} * page_bytes;
  void* at = heap.address(first);
  forget_populated(first, pages);
  const auto drop_them = [&] {
    if (heap.private_first) return drop(first, pages);
    return exclusive ? os::drop_private(at, bytes) : os::drop_shared(at, bytes);
  };
  // Blocks that the program had locked would keep all others, too.
  const bool punched = drop_them() || (os::unlock(at, bytes) && drop_them());
  if (punched) wish_for_small_pages(first, pages);
  return punched;
}

// Until at most `pages` are dirty.
void purge(std::uint64_t pages, std::int64_t patience_ns) {
  for (;;) {
    Extents::Span span;
    bool exclusive = false;
    {
      const Guard guard(patience_ns);
      if (!guard.is_in() || heap.extents.dirty() <= pages) return;
      const std::uint64_t excess = heap.extents.dirty() - pages;
      if (!heap.extents.begin_punch(
              static_cast<std::uint32_t>(std::min<std::uint64_t>(excess, UINT32_MAX)), &span))
        return;
      exclusive = heap.mode.load(std::memory_order_relaxed) == Mode::exclusive;
    }
    const bool punched = punch(span.first, span.pages, exclusive);
    const Guard guard(punched ? patience_ns : Guard::endless);
    if (!guard.is_in())
      (void)heap.extents.hand_over(span.first);
    else
      heap.extents.end_punch(span, punched);
    if (!punched) return;  // the program locks all of its memory: it stays as it is
  }
}

}  // namespace

void purge_all() { purge(0, Guard::endless); }

void move_out(PageIndex block, std::byte* to, std::size_t bytes) {
  constexpr std::size_t piece = huge_page_bytes;
  const bool exclusive = heap.mode.load(std::memory_order_relaxed) == Mode::exclusive;
  const std::byte* const from = heap.address(block);
  for (std::size_t done = 0; done < bytes; done += piece) {
    const std::size_t here = std::min(piece, bytes - done);
    std::memcpy(to + done, from + done, here);
    if (bytes >= least_given_back_bytes && here == piece)
      (void)punch(static_cast<PageIndex>(block + done / page_bytes), piece / page_bytes, exclusive);
  }
}

void purge_excess() {
  std::uint64_t allowance = 0;
  {
    const Guard guard(0);
    if (!guard.is_in()) return;
    allowance = allowed_pages();
  }
  // A little more than necessary, so that not every release of a small block has to.
  purge(allowance - std::min(allowance / 8, most_ahead_pages), 0);
}

void tend() {
  if (heap.mode.load(std::memory_order_acquire) == Mode::idle || !heap.tending.has_come()) return;
  const os::KeepErrno keep;
  std::uint64_t busy = 0;
  {
    const Guard guard(0);
    if (!guard.is_in()) return;
    const std::uint64_t dirty = heap.extents.dirty();
    busy = dirty - std::min(dirty, heap.idle_pages);
    busy = std::max(busy, std::min(kept_pages, heap.budget_pages));
    heap.idle_pages = std::min(dirty, busy);
  }
  purge(busy, 0);
}

}  // namespace tutti::commons
