// SPDX-License-Identifier: BSD-3-Clause
// A page lies in the memory of the processor that touches it first. Where peers are about to write
// into a buffer of this process, this process touches it before them; which pages have been is
// kept, a bit each, so that it is asked for once.
#include <algorithm>

#include "base/base.h"
#include "commons/commons.h"
#include "commons/heap.h"
#include "os/keep_errno.h"
#include "os/mapping.h"

namespace tutti::commons {
namespace {

constexpr std::uint64_t word_pages = 64;

// The bits of [first, end) that are in `word`.
std::uint64_t bits_in(std::uint64_t word, std::uint64_t first, std::uint64_t end) {
  const std::uint64_t begin = word * word_pages;
  const std::uint64_t low = std::max(first, begin) - begin;
  const std::uint64_t count = std::min(end, begin + word_pages) - begin - low;
  return (~std::uint64_t{0} >> (word_pages - count)) << low;
}

// visit(word, bits), until it is false.
template <class Visit>
void for_each_word(std::uint64_t first, std::uint64_t end, Visit visit) {
  for (std::uint64_t word = first / word_pages; word * word_pages < end; ++word)
    if (!visit(heap.populated[word], bits_in(word, first, end))) return;
}

}  // namespace

void populate(const void* address, std::size_t bytes) {
  const std::byte* at = shared(address, bytes);
  if (at == nullptr || bytes == 0) return;
  const std::uint64_t first = offset_of(at) / page_bytes;
  const std::uint64_t end = divide_up(offset_of(at) + bytes, page_bytes);
  bool all = true;
  for_each_word(first, end, [&](std::atomic<std::uint64_t>& word, std::uint64_t bits) {
    return all = (word.load(std::memory_order_relaxed) & bits) == bits;
  });
  if (all) [[likely]]
    return;
  const os::KeepErrno keep;
  os::populate(heap.base + first * page_bytes, (end - first) * page_bytes);
  // Also where the kernel cannot: whoever comes first touches them then.
  for_each_word(first, end, [](std::atomic<std::uint64_t>& word, std::uint64_t bits) {
    word.fetch_or(bits, std::memory_order_relaxed);
    return true;
  });
}

void forget_populated(PageIndex first, std::uint32_t pages) {
  // Who has the pages next has taken the mutex, and sees it.
  detail::punches.fetch_add(1, std::memory_order_relaxed);
  for_each_word(first, std::uint64_t{first} + pages,
                [](std::atomic<std::uint64_t>& word, std::uint64_t bits) {
                  if (word.load(std::memory_order_relaxed) != 0)
                    word.fetch_and(~bits, std::memory_order_relaxed);
                  return true;
                });
}

}  // namespace tutti::commons
