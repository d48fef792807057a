// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>

#include "base/bits.h"
#include "commons/bins.h"
#include "commons/page.h"
#include "os/mapping.h"

namespace tutti::commons {

// Which pages of the range are blocks and which are free, and whether the free ones are holes. Pure
// bookkeeping on the map: asks nothing of the kernel, and touches no page of the range.
//
// Neighbouring free extents of the same state are always one extent; of different states never, so
// that what has to be zeroed is never in doubt.
class Extents {
 public:
  struct Request {
    std::uint32_t pages = 1;
    std::uint32_t alignment = 1;  // in pages, a power of two
    std::uint32_t slack = 0;      // pages behind the block to keep free for its growth
  };
  struct Taken {
    PageIndex first = 0;
    std::uint32_t dirty = 0;  // of its leading pages may hold old contents, the others are zero
  };
  struct Span {
    PageIndex first = 0;
    std::uint32_t pages = 0;
  };

  static constexpr std::uint64_t all_touched = UINT64_MAX;

  // `map` is zeroed and has an entry for each of `pages`; page 0 of the range lies at the address
  // `origin` * page_bytes.
  void start(Page* map, std::uint32_t pages, std::uint64_t origin);

  [[nodiscard]] bool take(const Request& request, Taken* taken);
  // From the page `untouched` on nobody has written to what is freed: it is as clean as it was.
  void give(PageIndex block, std::uint64_t untouched = all_touched);
  // To `pages`, more than it has. `slack` more are set aside if they are free and clean.
  [[nodiscard]] bool grow(PageIndex block, std::uint32_t pages, std::uint32_t slack);
  void shrink(PageIndex block, std::uint32_t pages, std::uint64_t untouched = all_touched);

  // Sets at most `most` dirty pages aside, to be punched outside the lock; false: none are dirty.
  [[nodiscard]] bool begin_punch(std::uint32_t most, Span* span);
  void end_punch(const Span& span, bool punched);

  // For a thread that cannot have the lock, in place of give() and of end_punch(span, true). What
  // was handed over so waits for settle(), with the lock. False: `extent` was handed over already.
  [[nodiscard]] bool hand_over(PageIndex extent);
  void settle() {
    if (!is_settled()) settle_all();
  }
  [[nodiscard]] bool is_settled() const { return handed_.load(std::memory_order_relaxed) == 0; }

  // After all free memory has become holes.
  void all_free_is_clean();

  // Forgets the clean pages at the end, but for a multiple of `unit`; returns how many are left.
  std::uint32_t cut_tail(std::uint32_t unit);

  // False as soon as `visit(first, pages)` is, which sees the longest runs of pages of blocks.
  template <class Visit>
  bool for_each_used_run(Visit visit) const {
    Span run;
    for (PageIndex at = 0; at < pages_; at += map_[at].pages) {
      if (map_[at].state != State::used) continue;
      if (run.first + run.pages != at) {
        if (run.pages > 0 && !visit(run.first, run.pages)) return false;
        run = {at, 0};
      }
      run.pages += map_[at].used;
    }
    return run.pages == 0 || visit(run.first, run.pages);
  }

  [[nodiscard]] bool is_block(std::uint64_t index) const {
    return index > 0 && index < pages_ && map_[index].state == State::used &&
           link(static_cast<PageIndex>(index)).load(std::memory_order_relaxed) == 0;
  }
  [[nodiscard]] std::uint32_t used_pages(PageIndex block) const { return map_[block].used; }
  // The block that `page` is in.
  [[nodiscard]] PageIndex block_of(PageIndex page) const {
    while (map_[page].state == State::inside) --page;
    return page;
  }
  // How many bytes of the block its owner has a use for: what was asked for last.
  void want(PageIndex block, std::size_t bytes) {
    const std::size_t unwanted = std::size_t{map_[block].used} * page_bytes - bytes;
    if (map_[block].used > 1) map_[block + 1].previous = static_cast<PageIndex>(unwanted);
  }
  [[nodiscard]] std::size_t wanted_bytes(PageIndex block) const {
    const std::uint32_t pages = map_[block].used;
    return std::size_t{pages} * page_bytes - (pages > 1 ? map_[block + 1].previous : 0);
  }
  [[nodiscard]] std::uint32_t pages() const { return pages_; }
  [[nodiscard]] std::uint64_t dirty() const { return dirty_; }
  [[nodiscard]] std::uint64_t blocks() const { return blocks_; }
  [[nodiscard]] std::uint64_t used() const { return used_; }
  // Blocks that a huge page fits into. Any thread may ask.
  [[nodiscard]] std::uint64_t large_blocks() const {
    return large_blocks_.load(std::memory_order_relaxed);
  }

  [[nodiscard]] bool is_valid() const;

 private:
  static constexpr bool is_large(std::uint32_t pages) {
    return pages >= os::huge_page_bytes / page_bytes;
  }
  // A block had `before` pages and has `now`.
  void count_used(std::uint32_t before, std::uint32_t now);
  [[nodiscard]] static bool is_free(State state) {
    return state == State::dirty || state == State::clean;
  }
  [[nodiscard]] Bins& bins(State state) {
    return state == State::dirty ? dirty_bins_ : clean_bins_;
  }

  [[nodiscard]] std::atomic_ref<PageIndex> link(PageIndex extent) const {
    return std::atomic_ref(map_[extent].previous);
  }
  void settle_all();

  void describe(PageIndex first, std::uint32_t pages, State state);
  void insert_free(PageIndex first, std::uint32_t pages, State state);
  void remove_free(PageIndex extent);
  void free_and_merge(PageIndex first, std::uint32_t pages, State state);
  void free_used(PageIndex first, std::uint32_t used, std::uint32_t pages, std::uint64_t untouched);
  [[nodiscard]] std::uint32_t claim(PageIndex extent, PageIndex first, std::uint32_t pages);
  [[nodiscard]] std::uint64_t free_run(PageIndex at, std::uint64_t enough) const;
  [[nodiscard]] PageIndex aligned(PageIndex first, std::uint32_t alignment) const;
  [[nodiscard]] PageIndex find_aligned(const Bins& bins, std::uint32_t pages,
                                       std::uint32_t alignment) const;
  [[nodiscard]] PageIndex find(const Request& request, PageIndex* first) const;

  Page* map_ = nullptr;
  std::uint32_t pages_ = 0;
  std::atomic<PageIndex> handed_{0};  // the last one
  std::uint64_t origin_ = 0;
  Bins dirty_bins_;
  Bins clean_bins_;
  std::uint64_t dirty_ = 0;  // pages
  std::uint64_t blocks_ = 0;
  std::uint64_t used_ = 0;  // pages, without slack
  std::atomic<std::uint64_t> large_blocks_{0};
};

}  // namespace tutti::commons
