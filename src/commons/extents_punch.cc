// SPDX-License-Identifier: BSD-3-Clause
// From dirty to clean, and the check that all the rest kept its word.
#include "base/bits.h"
#include "commons/extents.h"

namespace tutti::commons {

// The largest first, because a punch is a system call, and of the largest the one that has been
// free longest. Its front stays when not all of it has to go: find() looks for resident pages
// there.
bool Extents::begin_punch(std::uint32_t most, Span* span) {
  const PageIndex extent = dirty_bins_.oldest_of_largest(map_);
  if (extent == 0 || most == 0) return false;
  const std::uint32_t pages = map_[extent].pages;
  const std::uint32_t keep = pages > most ? pages - most : 0;
  remove_free(extent);
  if (keep > 0) insert_free(extent, keep, State::dirty);
  *span = {extent + keep, pages - keep};
  describe(span->first, span->pages, State::punching);
  map_[span->first].previous = 0;
  return true;
}

void Extents::end_punch(const Span& span, bool punched) {
  free_and_merge(span.first, span.pages, punched ? State::clean : State::dirty);
}

void Extents::all_free_is_clean() {
  dirty_bins_ = {};
  clean_bins_ = {};
  dirty_ = 0;
  Span run;
  const auto end_run = [&] {
    if (run.pages > 0) insert_free(run.first, run.pages, State::clean);
    run = {};
  };
  std::uint32_t length = 0;
  for (PageIndex at = 0; at < pages_; at += length) {
    Page& page = map_[at];
    length = page.pages;
    if (page.state == State::used) {
      end_run();
      continue;
    }
    if (run.pages == 0) run.first = at;
    run.pages += length;
    page.state = State::inside;
  }
  end_run();
}

std::uint32_t Extents::cut_tail(std::uint32_t unit) {
  const PageIndex last = pages_ - map_[pages_ - 1].pages;
  const auto end = static_cast<std::uint32_t>(round_up(last, unit));
  if (map_[last].state != State::clean || end >= pages_) return pages_;
  remove_free(last);
  if (end > last) insert_free(last, end - last, State::clean);
  return pages_ = end;
}

bool Extents::is_valid() const {
  std::uint64_t blocks = 0, large = 0, used = 0, dirty = 0, free_extents = 0;
  State before = State::used;
  PageIndex at = 0;
  while (at < pages_) {
    const Page& page = map_[at];
    if (page.pages == 0 || page.pages > pages_ - at) return false;
    if (map_[at + page.pages - 1].pages != page.pages) return false;
    if (page.state == State::inside || page.state > State::punching) return false;
    if (is_free(page.state)) {
      if (page.state == before) return false;
      ++free_extents;
      if (page.state == State::dirty) dirty += page.pages;
    }
    if (page.state == State::used && at > 0) {
      if (page.used == 0 || page.used > page.pages) return false;
      ++blocks;
      large += is_large(page.used);
      used += page.used;
    }
    before = page.state;
    at += page.pages;
  }
  if (at != pages_ || blocks != blocks_ || used != used_ || dirty != dirty_) return false;
  if (large != large_blocks()) return false;

  bool good = true;
  std::uint64_t listed = 0;
  const auto check = [&](State state) {
    return [&, state](PageIndex extent, bool right_bin) {
      good = good && right_bin && map_[extent].state == state;
      ++listed;
    };
  };
  dirty_bins_.for_each(map_, check(State::dirty));
  clean_bins_.for_each(map_, check(State::clean));
  return good && listed == free_extents;
}

}  // namespace tutti::commons
