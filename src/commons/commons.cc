// SPDX-License-Identifier: BSD-3-Clause
#include "commons/commons.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/base.h"
#include "commons/heap.h"
#include "os/keep_errno.h"

namespace tutti::commons {
namespace {

// A block that has grown once will probably grow again: address space behind it costs nothing
// until it is used. Not so much of the range that a few such blocks would exhaust it.
std::uint32_t slack_for(std::uint32_t pages) {
  return std::min(4 * std::min(pages, heap.extents.pages() / 8), heap.extents.pages() / 16);
}

// Pages of `bytes`, or 0 when that is more than there is.
std::uint32_t pages_of(std::size_t bytes) {
  if (bytes >= detail::bytes.load(std::memory_order_relaxed) || bytes > heap.largest_bytes)
    return 0;
  return static_cast<std::uint32_t>(std::max<std::size_t>(divide_up(bytes, page_bytes), 1));
}

// A page takes at least a quarter of a microsecond to touch.
std::int64_t patience_ns(Patience patience, std::uint32_t pages) {
  return patience == Patience::all ? Guard::endless
                                   : std::max<std::int64_t>(50'000, std::int64_t{250} * pages);
}

[[noreturn]] void refuse(const void* block) {
  log::fatal("%p was freed or resized, but is not an allocated block", block);
  std::abort();
}

PageIndex index_of(const void* block) {
  const auto offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(block) - heap.base);
  if (offset % page_bytes != 0 || !heap.extents.is_block(offset / page_bytes)) refuse(block);
  return static_cast<PageIndex>(offset / page_bytes);
}

// So many pages for a large block that those that follow it are not alike to the first cache: AMD's
// processors look there by a hash of address bits 12 to 27, pair by pair, in which arrays of 256
// MiB that follow each other are one, as are arrays of 1 MiB + 32 KiB (docs/commons.md, "Apart").
// Five pages more than a multiple of eight change two bits that no pair has both of. What is
// aligned to huge pages is apart in any case until 256 MiB have come together: there, from 64 MiB
// on. The program is not told of these pages: they are not zeroed, copied or counted as usable.
std::uint32_t apart(std::uint32_t pages) {
  constexpr std::uint32_t large = (std::uint32_t{256} << 10) / page_bytes;
  constexpr std::uint32_t very_large = (std::uint32_t{64} << 20) / page_bytes;
  const std::uint32_t least = best_alignment(pages) > 1 ? very_large : large;
  return pages >= least ? (pages + 2) / 8 * 8 + 5 : pages;
}

enum class Outcome { taken, full, busy };

struct Found {
  Extents::Taken taken;
  bool too_much = false;  // stays free beside it
};

Outcome take(const Extents::Request& request, std::int64_t patience_ns, Found* found) {
  const Guard guard(patience_ns);
  if (!guard.is_in()) return Outcome::busy;
  if (!heap.extents.take(request, &found->taken)) return Outcome::full;
  if (!make_accessible(std::uint64_t{found->taken.first} + request.pages)) {
    heap.extents.give(found->taken.first, heap.accessible_bytes / page_bytes);
    return Outcome::full;
  }
  ++heap.allocations;
  note_extremes();
  found->too_much = too_much_is_dirty();
  return Outcome::taken;
}

void* place(Extents::Request request, std::size_t bytes, bool zero, Patience patience) {
  const std::int64_t within_ns = patience_ns(patience, request.pages);
  Found found;
  const std::uint32_t asked = request.pages;
  if (request.slack == 0) request.pages = apart(asked);
  const std::uint32_t least = request.alignment;
  request.alignment = std::max(least, best_alignment(request.pages));
  Outcome outcome = take(request, within_ns, &found);
  if (outcome == Outcome::full && (request.slack > 0 || request.pages > asked)) {
    request.slack = 0;
    request.pages = asked;
    outcome = take(request, within_ns, &found);
  }
  if (outcome == Outcome::full && request.alignment > least) {
    request.alignment = least;
    outcome = take(request, within_ns, &found);
  }
  if (outcome == Outcome::full) {
    purge_all();  // once all holes have become one with their neighbours, there may be room
    outcome = take(request, within_ns, &found);
  }
  if (outcome != Outcome::taken) return nullptr;
  if (found.too_much) purge_excess();
  const Extents::Taken& taken = found.taken;
  const std::uint32_t dirty = std::min(taken.dirty, asked);
  if (heap.private_first) {
    forget_refusals(taken.first, request.pages);
    // What is asked for by name is to be shared.
    if (patience == Patience::all || is_born_shared(bytes))
      (void)share_new(taken.first, request.pages);
  }
  heap.extents.want(taken.first, bytes);
  wish_for_huge_pages(taken.first, dirty, asked);
  void* block = heap.address(taken.first);
  if (zero && dirty > 0) std::memset(block, 0, std::size_t{dirty} * page_bytes);
  return block;
}

void release_pages(PageIndex block) {
  bool too_much = false, more_than_budget = false;
  {
    const Guard guard(0);
    if (!guard.is_in()) {
      if (!heap.extents.hand_over(block)) refuse(heap.address(block));
      return;
    }
    heap.extents.give(block);
    too_much = too_much_is_dirty();
    more_than_budget = heap.extents.dirty() > heap.budget_pages;
  }
  if (too_much) purge_excess();
  if (more_than_budget) tend();
}

bool resize_pages(PageIndex block, std::uint32_t pages, Patience patience) {
  bool too_much = false;
  const std::uint32_t before = heap.extents.used_pages(block);
  {
    const Guard guard(patience_ns(patience, std::max(before, pages)));
    if (!guard.is_in()) return pages <= before;  // it may as well stay too large
    if (pages > before) {
      if (!heap.extents.grow(block, pages, slack_for(pages))) return false;
      if (!make_accessible(std::uint64_t{block} + pages)) {
        heap.extents.shrink(block, before, heap.accessible_bytes / page_bytes);
        return false;
      }
      note_extremes();
    } else {
      heap.extents.shrink(block, pages);
    }
    too_much = too_much_is_dirty();
  }
  if (pages > before) wish_for_huge_pages(block, before, pages);
  if (too_much) purge_excess();
  return true;
}

}  // namespace

void* allocate(std::size_t bytes, std::size_t alignment, bool zero, Patience patience) {
  const os::KeepErrno keep;
  if (!may_serve(bytes) || !ready() || !may_serve(bytes)) return nullptr;
  const std::uint32_t pages = pages_of(bytes);
  const std::uint32_t alignment_pages = pages_of(std::max(alignment, page_bytes));
  if (pages == 0 || alignment_pages == 0) return nullptr;
  return place({pages, alignment_pages, 0}, bytes, zero, patience);
}

void release(void* block) {
  const os::KeepErrno keep;
  release_pages(index_of(block));
}

std::size_t usable_bytes(const void* block) {
  const PageIndex index = index_of(block);
  const std::size_t bytes = round_up(heap.extents.wanted_bytes(index), page_bytes);
  heap.extents.want(index, bytes);  // who asks may use it
  return bytes;
}

bool resize_in_place(void* block, std::size_t bytes, Patience patience) {
  const os::KeepErrno keep;
  const PageIndex index = index_of(block);
  const std::uint32_t pages = pages_of(bytes);
  if (pages == 0 || !resize_pages(index, pages, patience)) return false;
  heap.extents.want(index, bytes);
  return true;
}

void* resize(void* block, std::size_t bytes, Patience patience) {
  const os::KeepErrno keep;
  if (bytes < detail::threshold.load(std::memory_order_relaxed) / 2) return nullptr;
  if (resize_in_place(block, bytes, patience)) return block;
  const std::uint32_t pages = pages_of(bytes);
  if (pages == 0) return nullptr;
  void* moved = place({pages, 1, slack_for(pages)}, bytes, false, patience);
  if (moved == nullptr) return nullptr;
  const PageIndex index = index_of(block);
  move_out(index, static_cast<std::byte*>(moved),
           round_up(heap.extents.wanted_bytes(index), page_bytes));
  release_pages(index);
  return moved;
}

void trim() {
  const os::KeepErrno keep;
  if (heap.mode.load(std::memory_order_acquire) != Mode::idle) purge_all();
}

Handle handle() {
  const os::KeepErrno keep;
  (void)ready();
  const Guard guard;
  if (heap.mode.load(std::memory_order_relaxed) != Mode::shared) return {.why_not = heap.why_not};
  if (!os::refers_to(heap.fd, heap.file))
    return {.why_not = "the program has closed the descriptor of the commons"};
  return {heap.fd, heap.base, std::size_t{heap.extents.pages()} * page_bytes, ""};
}

const std::byte* shared(const void* address, std::size_t bytes) {
  if (heap.mode.load(std::memory_order_acquire) != Mode::shared) return nullptr;
  const auto* at = static_cast<const std::byte*>(address);
  if (owns(at)) {
    const std::size_t behind = detail::bytes.load(std::memory_order_relaxed) - offset_of(at);
    if (bytes > behind) return nullptr;
    const std::uint64_t first = offset_of(at) / page_bytes;
    const std::uint64_t end = divide_up(offset_of(at) + bytes, page_bytes);
    return !heap.private_first || heap.in_file.all(first, end) ? at : nullptr;
  }
  const Statics& statics = heap.statics;
  const auto offset = static_cast<std::size_t>(at - statics.first);
  if (offset >= statics.bytes || bytes > statics.bytes - offset) return nullptr;
  return heap.base + statics.offset + offset;
}

Stats stats() {
  const Guard guard;
  const std::uint64_t used = heap.extents.used(), dirty = heap.extents.dirty();
  std::uint64_t in_file = used + dirty;
  if (heap.private_first) in_file = heap.file_pages.load(std::memory_order_relaxed);
  if (heap.mode.load(std::memory_order_relaxed) != Mode::shared) in_file = 0;
  return {heap.extents.blocks(), used * page_bytes, dirty * page_bytes, in_file * page_bytes,
          heap.allocations};
}

const char* why_small_pages() { return heap.why_small; }

void note(const char* clause) { heap.note.store(clause, std::memory_order_release); }
const char* noted() { return heap.note.load(std::memory_order_acquire); }

bool is_valid() {
  const Guard guard;
  return heap.extents.is_valid();
}

}  // namespace tutti::commons
