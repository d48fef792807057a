// SPDX-License-Identifier: BSD-3-Clause
// Which large blocks are left to libc. Where the commons has small pages, a block that libc would
// map for itself (glibc: 32 MiB and more, whatever came before) has its pages sooner from libc, and
// huge ones where THP is always; so it is libc's unless collectives use it.
//
// Nothing moves: a block may hold more than the buffer of one call, and other threads, pending
// messages or devices may be writing to it. What is learned counts for the next block of the size.
#include <string_view>

#include "base/base.h"
#include "commons/commons.h"
#include "commons/heap.h"
#include "os/huge_file.h"
#include "os/keep_errno.h"

namespace tutti::commons {
namespace {

using detail::sizes_like;

constexpr std::size_t granule_bytes = huge_page_bytes;
constexpr std::uint64_t granules_per_word = 64;

bool has_huge_pages() {
  return heap.huge && (*heap.why_small == '\0' || os::memfds_have_huge_pages());
}

std::uint64_t bit_of(std::size_t granule) {
  return std::uint64_t{1} << (granule % granules_per_word);
}

}  // namespace

std::size_t offered_bytes(std::size_t range_bytes) {
  return divide_up(range_bytes / granule_bytes, granules_per_word) * sizeof(std::uint64_t);
}

void decide_what_is_left() {
  const Options& chosen = options();
  std::uint64_t left = 0;
  heap.leaves = !has_huge_pages() && std::string_view(chosen.commons_huge) != "0" &&
                std::string_view(chosen.commons_malloc) != "always";
  if (heap.leaves && os::huge_pages_come_unasked()) left = detail::sizes_libc_maps;
  detail::left_sizes.store(left, std::memory_order_relaxed);
}

bool is_left_now(std::size_t bytes) {
  const os::KeepErrno keep;
  (void)ready();
  return (detail::left_sizes.load(std::memory_order_relaxed) & sizes_like(bytes)) != 0;
}

void note_offer(std::size_t offset) {
  const std::size_t granule = offset / granule_bytes;
  std::atomic<std::uint64_t>& word = heap.offered[granule / granules_per_word];
  if ((word.load(std::memory_order_relaxed) & bit_of(granule)) == 0)
    word.fetch_or(bit_of(granule), std::memory_order_relaxed);
}

void want(std::uint64_t sizes) {
  detail::wanted_sizes.fetch_or(sizes, std::memory_order_relaxed);
  detail::left_sizes.fetch_and(~sizes, std::memory_order_relaxed);
}

void learn_from_end_of(PageIndex block, std::uint32_t pages) {
  const std::size_t bytes = std::size_t{pages} * page_bytes;
  const std::uint64_t sizes = sizes_like(bytes) & detail::sizes_libc_maps;
  if (!heap.leaves || sizes == 0) return;
  const std::size_t first = std::size_t{block} * page_bytes / granule_bytes;
  const std::size_t last = (std::size_t{block + pages} * page_bytes - 1) / granule_bytes;
  bool offered = false;
  for (std::size_t granule = first; granule <= last; ++granule) {
    std::atomic<std::uint64_t>& word = heap.offered[granule / granules_per_word];
    if ((word.load(std::memory_order_relaxed) & bit_of(granule)) == 0) continue;
    word.fetch_and(~bit_of(granule), std::memory_order_relaxed);
    offered = true;
  }
  if (offered)
    want(sizes);
  else
    detail::left_sizes.fetch_or(sizes & ~detail::wanted_sizes.load(std::memory_order_relaxed),
                                std::memory_order_relaxed);
}

}  // namespace tutti::commons
