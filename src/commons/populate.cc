// SPDX-License-Identifier: BSD-3-Clause
// A page lies in the memory of the processor that touches it first. Where that matters and peers
// are about to write into a buffer, its owner touches it before them; which pages have been is
// kept, a bit each, so that it is asked for once.
#include "base/base.h"
#include "commons/commons.h"
#include "commons/heap.h"
#include "os/keep_errno.h"
#include "os/mapping.h"

namespace tutti::commons {

void populate(const void* address, std::size_t bytes) {
  const std::byte* at = shared(address, bytes);
  if (at == nullptr || bytes == 0) return;
  const std::uint64_t first = offset_of(at) / page_bytes;
  const std::uint64_t end = divide_up(offset_of(at) + bytes, page_bytes);
  if (heap.populated.all(first, end)) [[likely]]
    return;
  const os::KeepErrno keep;
  os::populate_shared(heap.base + first * page_bytes, (end - first) * page_bytes);
  // Also where the kernel cannot: whoever comes first touches them then.
  heap.populated.set(first, end);
}

void forget_populated(PageIndex first, std::uint32_t pages) {
  // The thread that gets the pages next has taken the mutex, and sees it.
  detail::punches.fetch_add(1, std::memory_order_relaxed);
  heap.populated.clear(first, std::uint64_t{first} + pages);
}

}  // namespace tutti::commons
