// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

#include "base/bits.h"
#include "os/mapping.h"

namespace tutti::memory {

// How much of all peers is in the page table of this process, where it counts as resident a second
// time: bounded, by taking it out when a collective has ended.
class Windows {
 public:
  // How much may be there. It is looked at whenever a quarter of that may have come, and each byte
  // moved counts 2^-shift: the more, the less pages that come back cost beside a copy of them.
  struct Bounds {
    std::int64_t most_bytes = INT64_MAX;
    int large_shift = 0;  // of buffers that fill huge pages
    int small_shift = 0;
  };
  // What is there, right up to a constant; nothing where the kernel does not say.
  using Resident = std::function<std::optional<std::int64_t>()>;
  using Forget = std::function<void()>;

  // Until then there is no bound. Before any of it is there.
  void bound(const Bounds& bounds, Resident resident, Forget forget);

  // A collective has ended in which both buffers of so many peers may have come. Any thread.
  void moved(std::size_t bytes, std::size_t peers) {
    if (bytes < page_bytes) return;  // goes through the segment
    const int shift = bytes >= os::huge_page_bytes ? bounds_.large_shift : bounds_.small_shift;
    // If two threads do this at once, one of them may be lost.
    const std::int64_t seen = seen_bytes_.load(std::memory_order_relaxed) +
                              static_cast<std::int64_t>(2 * bytes * peers >> shift);
    seen_bytes_.store(seen, std::memory_order_relaxed);
    if (seen > bounds_.most_bytes / 4) [[unlikely]]
      look();
  }

 private:
  void look();

  Bounds bounds_;
  Resident resident_;
  Forget forget_;
  std::atomic<std::int64_t> seen_bytes_{0};  // since look()
  std::mutex looking_;                       // for what follows
  std::int64_t paid_bytes_ = 0;              // seen before that, since all was forgotten
  std::int64_t least_bytes_ = 0;             // that were resident since then
};

// What is resident in this process and shared, less its own commons, of which all is thought to
// have been touched.
[[nodiscard]] std::optional<std::int64_t> resident_of_peers();

}  // namespace tutti::memory
