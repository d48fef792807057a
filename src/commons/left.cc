// SPDX-License-Identifier: BSD-3-Clause
// Which large blocks are left to libc. Where the commons has small pages, pages are had sooner from
// libc, and huge ones where THP is always. That is lost for each page that a block here has to be
// given, and won for each that a collective finds mapped. So both are counted for each size, and
// the blocks of a size are libc's while they would lose: temporary ones, and those that no
// collective uses. Only what the kernel has to copy then tells that they would win.
//
// Nothing moves: a block may hold more than the buffer of one call, and other threads, pending
// messages or devices may be writing to it. What is learned counts for the next block of the size.
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <string_view>

#include "base/base.h"
#include "commons/commons.h"
#include "commons/heap.h"
#include "os/huge_file.h"
#include "os/keep_errno.h"

namespace tutti::commons {
namespace {

using detail::sizes_like;

// How often a page has to be used before it is worth what it costs to have it here: touched first
// and given back 1.3 us more than libc's, used 0.33 us less where the caches do not hold it, else
// 0.1 to 0.2 us (Allreduce by 2 ranks on an EPYC in a virtual machine).
constexpr std::uint64_t worthwhile_uses = 4;
// Of blocks that libc always maps for themselves one is enough to tell. Of smaller ones it takes so
// many, and a program in the midst of its work: what it allocates before may be its buffers.
constexpr std::uint64_t telling_blocks = 4;

// Of blocks of a size. Threads may overwrite each other's: it need not be exact.
struct Tally {
  std::atomic<std::uint64_t> given{0};  // pages that blocks here had to be given
  std::atomic<std::uint64_t> used{0};   // pages of buffers of collectives, wherever they were

  static void add(std::atomic<std::uint64_t>& sum, std::uint64_t pages) {
    sum.store(sum.load(std::memory_order_relaxed) + pages, std::memory_order_relaxed);
  }
  [[nodiscard]] bool loses() const {
    return used.load(std::memory_order_relaxed) <
           worthwhile_uses * given.load(std::memory_order_relaxed);
  }
};
constinit std::array<Tally, 65> g_tallies{};  // by the logarithm of the size

Tally& tally_of(std::uint64_t sizes) {
  return g_tallies[static_cast<std::size_t>(std::countr_zero(sizes))];
}

bool has_huge_pages() {
  return heap.huge && (*heap.why_small == '\0' || os::memfds_have_huge_pages());
}

// Whether so many pages that were given to blocks of a size are enough to tell.
bool tells(std::uint64_t sizes, std::uint64_t given) {
  const std::uint64_t least = sizes / page_bytes;  // of one block
  if ((sizes & detail::sizes_libc_maps) != 0) return given >= least;
  return given >= telling_blocks * least && detail::calls_tell.load(std::memory_order_relaxed);
}

}  // namespace

void decide_what_is_left() {
  const Options& chosen = options();
  std::uint64_t left = 0;
  heap.leaves = !has_huge_pages() && std::string_view(chosen.commons_huge) != "0" &&
                std::string_view(chosen.commons_malloc) != "always";
  if (heap.leaves && os::huge_pages_come_unasked()) left = detail::sizes_libc_maps;
  detail::left_sizes.store(left, std::memory_order_relaxed);
  for (Tally& tally : g_tallies) tally.given = tally.used = 0;
}

bool is_left_now(std::size_t bytes) {
  const os::KeepErrno keep;
  (void)ready();
  return (detail::left_sizes.load(std::memory_order_relaxed) & sizes_like(bytes)) != 0;
}

void note_use(std::size_t bytes) {
  const std::uint64_t sizes = sizes_like(bytes);
  if (!heap.leaves || 2 * sizes < detail::least_left_bytes) return;
  // A buffer seldom fills its block.
  for (const std::uint64_t each : {sizes, 2 * sizes}) {
    Tally& tally = tally_of(each);
    Tally::add(tally.used, divide_up(bytes, page_bytes));
    if ((detail::left_sizes.load(std::memory_order_relaxed) & each) != 0 && !tally.loses())
      detail::left_sizes.fetch_and(~each, std::memory_order_relaxed);
  }
}

void note_given(std::size_t bytes, std::uint32_t pages) {
  const std::uint64_t sizes = sizes_like(bytes);
  if (!heap.leaves || sizes < detail::least_left_bytes || pages == 0) return;
  Tally& tally = tally_of(sizes);
  Tally::add(tally.given, pages);
  if (tells(sizes, tally.given.load(std::memory_order_relaxed)) && tally.loses())
    detail::left_sizes.fetch_or(sizes, std::memory_order_relaxed);
}

}  // namespace tutti::commons
