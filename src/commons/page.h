// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace tutti::commons {

// Index of a page in the range. Page 0 belongs to nobody, so that 0 can end a list.
using PageIndex = std::uint32_t;

enum class State : std::uint32_t {
  inside,    // not the first page of an extent
  used,      // a block
  dirty,     // free, its pages perhaps resident, with old contents
  clean,     // free, a hole: reads as zeros
  punching,  // free, on its way from dirty to clean
};

// What is known of a page. The first page of an extent describes it; the last one repeats its
// length (a boundary tag: D. E. Knuth, The Art of Computer Programming 1, 2.5), so that both
// neighbours of an extent are found in constant time.
struct Page {
  std::uint32_t pages;  // of the extent
  State state;
  union {
    std::uint32_t used;  // a block: its own pages; the rest is slack, which is always clean
    PageIndex next;      // a free extent: its neighbours in the ring of its bin
  };
  // A block, or a punched extent: of those handed over, the one that was before it; 0: it is not.
  // The second page of a block: how many bytes of the block nobody has a use for.
  PageIndex previous;
};
static_assert(sizeof(Page) == 16);

}  // namespace tutti::commons
