// SPDX-License-Identifier: BSD-3-Clause
#include "commons/extents.h"

#include <algorithm>

#include "base/bits.h"

namespace tutti::commons {

void Extents::start(Page* map, std::uint32_t pages, std::uint64_t origin) {
  map_ = map;
  pages_ = pages;
  origin_ = origin;
  describe(0, 1, State::used);
  map_[0].used = 1;
  insert_free(1, pages - 1, State::clean);
}

void Extents::describe(PageIndex first, std::uint32_t pages, State state) {
  map_[first + pages - 1].pages = pages;
  map_[first].pages = pages;
  map_[first].state = state;
}

void Extents::insert_free(PageIndex first, std::uint32_t pages, State state) {
  describe(first, pages, state);
  bins(state).insert(map_, first);
  if (state == State::dirty) dirty_ += pages;
}

void Extents::remove_free(PageIndex extent) {
  Page& page = map_[extent];
  bins(page.state).remove(map_, extent);
  if (page.state == State::dirty) dirty_ -= page.pages;
  page.state = State::inside;
}

void Extents::free_and_merge(PageIndex first, std::uint32_t pages, State state) {
  map_[first].state = State::inside;
  const PageIndex next = first + pages;
  if (next < pages_ && map_[next].state == state) {
    pages += map_[next].pages;
    remove_free(next);
  }
  const PageIndex previous = first - map_[first - 1].pages;  // page 0 is never free
  if (map_[previous].state == state) {
    pages += map_[previous].pages;
    first = previous;
    remove_free(previous);
  }
  insert_free(first, pages, state);
}

// Takes [first, first + pages), which lies in free extents of which `extent` is the first, out of
// the bins; what is left of the outer ones stays free. Returns how many leading pages may be dirty.
std::uint32_t Extents::claim(PageIndex extent, PageIndex first, std::uint32_t pages) {
  const PageIndex end = first + pages;
  PageIndex dirty_end = first;
  for (PageIndex at = extent; at < end;) {
    const State state = map_[at].state;
    const PageIndex next = at + map_[at].pages;
    if (next <= first) {  // skipped over to reach the alignment
      at = next;
      continue;
    }
    remove_free(at);
    if (state == State::dirty) dirty_end = std::min(next, end);
    if (at < first) insert_free(at, first - at, state);
    if (next > end) insert_free(end, next - end, state);
    at = next;
  }
  return dirty_end - first;
}

// How many free pages follow from `at` on; stops counting at `enough`.
std::uint64_t Extents::free_run(PageIndex at, std::uint64_t enough) const {
  std::uint64_t sum = 0;
  while (sum < enough && at < pages_ && is_free(map_[at].state)) {
    sum += map_[at].pages;
    at += map_[at].pages;
  }
  return sum;
}

PageIndex Extents::aligned(PageIndex first, std::uint32_t alignment) const {
  return static_cast<PageIndex>(round_up(origin_ + first, alignment) - origin_);
}

// An extent that holds so many pages from an aligned one on; 0 when none is found. Where a block
// lay that was aligned like this, the next one finds room, though there is none to spare.
PageIndex Extents::find_aligned(const Bins& bins, std::uint32_t pages,
                                std::uint32_t alignment) const {
  const auto holds = [&](PageIndex at) {
    return aligned(at, alignment) - at + std::uint64_t{pages} <= map_[at].pages;
  };
  if (alignment > 1)
    if (const PageIndex exact = bins.search(map_, pages, 16, holds)) return exact;
  return bins.find(map_, pages + (alignment - 1));
}

// The free extent in which a block can begin, and at which page; 0 when there is none. Resident
// memory comes first, because a page of it costs nothing and a page of a hole a fault.
PageIndex Extents::find(const Request& request, PageIndex* first) const {
  if (request.slack > 0 && request.alignment == 1) {
    // At the end of something dirty, so that the block grows into something clean.
    const auto has_slack = [&](PageIndex at) {
      const PageIndex next = at + map_[at].pages;
      return next < pages_ && map_[next].state == State::clean && map_[next].pages >= request.slack;
    };
    const PageIndex dirty = dirty_bins_.search(map_, request.pages, 16, has_slack);
    if (dirty != 0) {
      *first = dirty + map_[dirty].pages - request.pages;
      return dirty;
    }
  }
  const std::uint32_t pages = request.pages + request.slack;
  PageIndex extent = 0;
  if (request.slack == 0) extent = find_aligned(dirty_bins_, pages, request.alignment);
  if (request.slack == 0 && extent == 0) {
    // A block larger than anything dirty that would hold it may still begin with something dirty:
    // with half of what it needs or more, or else with the largest there is. One that is freed and
    // made again finds the part of it that the budget let stay.
    const auto begins = [&](PageIndex at) {
      const std::uint64_t need = aligned(at, request.alignment) - at + std::uint64_t{pages};
      return free_run(at, need) >= need;
    };
    extent = dirty_bins_.search(map_, divide_up(pages, 2), 16, begins);
    const PageIndex largest = dirty_bins_.newest_of_largest();
    if (extent == 0 && largest != 0 && begins(largest)) extent = largest;
  }
  if (extent == 0) extent = find_aligned(clean_bins_, pages, request.alignment);
  *first = extent == 0 ? 0 : aligned(extent, request.alignment);
  return extent;
}

void Extents::count_used(std::uint32_t before, std::uint32_t now) {
  used_ = used_ - before + now;
  const std::uint64_t large = large_blocks() - is_large(before) + is_large(now);
  large_blocks_.store(large, std::memory_order_relaxed);
}

bool Extents::take(const Request& request, Taken* taken) {
  const std::uint64_t most = std::uint64_t{request.pages} + request.slack + request.alignment;
  if (request.pages == 0 || most >= pages_) return false;
  PageIndex first = 0;
  const PageIndex extent = find(request, &first);
  if (extent == 0) return false;
  const std::uint32_t dirty = claim(extent, first, request.pages + request.slack);
  describe(first, request.pages + request.slack, State::used);
  map_[first].used = request.pages;
  map_[first].previous = 0;
  ++blocks_;
  count_used(0, request.pages);
  *taken = {first, dirty};
  return true;
}

// Of `pages` of a block the first `used` were used, and may have been written to before
// `untouched`.
void Extents::free_used(PageIndex first, std::uint32_t used, std::uint32_t pages,
                        std::uint64_t untouched) {
  const std::uint64_t before = untouched - std::min<std::uint64_t>(untouched, first);
  const auto dirty = static_cast<std::uint32_t>(std::min<std::uint64_t>(used, before));
  if (dirty > 0) describe(first, dirty, State::used);  // until it has been freed, below
  if (pages > dirty) free_and_merge(first + dirty, pages - dirty, State::clean);
  if (dirty > 0) free_and_merge(first, dirty, State::dirty);
}

void Extents::give(PageIndex block, std::uint64_t untouched) {
  const Page page = map_[block];
  --blocks_;
  count_used(page.used, 0);
  free_used(block, page.used, page.pages, untouched);
}

bool Extents::grow(PageIndex block, std::uint32_t pages, std::uint32_t slack) {
  Page& page = map_[block];
  if (pages > page.pages) {
    const PageIndex end = block + page.pages;
    const std::uint32_t need = pages - page.pages;
    if (free_run(end, need) < need) return false;
    PageIndex last = end;  // the extent that the block will end in
    while (last + map_[last].pages < block + pages) last += map_[last].pages;
    const std::uint32_t left = last + map_[last].pages - (block + pages);
    slack = map_[last].state == State::clean ? std::min(slack, left) : 0;
    (void)claim(end, end, need + slack);
    describe(block, pages + slack, State::used);
  }
  count_used(page.used, pages);
  page.used = pages;
  return true;
}

void Extents::shrink(PageIndex block, std::uint32_t pages, std::uint64_t untouched) {
  const Page page = map_[block];
  if (pages >= page.used) return;
  count_used(page.used, pages);
  describe(block, pages, State::used);
  map_[block].used = pages;
  free_used(block + pages, page.used - pages, page.pages - pages, untouched);
}

}  // namespace tutti::commons
