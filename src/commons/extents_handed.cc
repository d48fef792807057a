// SPDX-License-Identifier: BSD-3-Clause
// A stack of extents without a lock: many threads push one each, and the one with the lock takes
// them all, so that nobody meets one that has come back meanwhile.
#include "commons/extents.h"

namespace tutti::commons {
namespace {
constexpr PageIndex none = ~PageIndex{0};  // before the first one
}

bool Extents::hand_over(PageIndex extent) {
  if (link(extent).exchange(none, std::memory_order_relaxed) != 0) return false;
  PageIndex last = handed_.load(std::memory_order_relaxed);
  do {
    link(extent).store(last == 0 ? none : last, std::memory_order_relaxed);
    // Pairs with the exchange in settle_all().
  } while (!handed_.compare_exchange_weak(last, extent, std::memory_order_release,
                                          std::memory_order_relaxed));
  return true;
}

void Extents::settle_all() {
  for (PageIndex at = handed_.exchange(0, std::memory_order_acquire); at != 0;) {
    const PageIndex before = link(at).load(std::memory_order_relaxed);
    if (map_[at].state == State::used)
      give(at);
    else
      end_punch({at, map_[at].pages}, true);
    at = before == none ? 0 : before;
  }
}

}  // namespace tutti::commons
