// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/upkeep.h"

#include <algorithm>
#include <bit>

#include "os/ticks.h"

namespace tutti::fabric {

// Looks once, at time `begin`. True: that took so long that something must have happened.
bool Upkeep::look(std::uint64_t begin) {
  const Look look = look_.load(std::memory_order_relaxed);
  if (look == nullptr) return false;
  look();
  const std::uint64_t end = os::ticks(), took = end - begin;
  last_.store(end, std::memory_order_relaxed);
  const std::uint64_t idle = idle_.load(std::memory_order_relaxed);
  const bool moved = idle != 0 && took > idle + idle / 4;
  // The mean of looks in which nothing happens. What looks like something counts little: a clock
  // may change, or the MPI get more to look after.
  const std::uint64_t mean = idle == 0 ? took
                             : moved   ? idle + idle / 64 + 1
                                       : idle - idle / 8 + took / 8;
  idle_.store(std::max<std::uint64_t>(1, mean), std::memory_order_relaxed);
  return moved;
}

void Upkeep::between_calls() {
  const std::uint64_t before = last_.load(std::memory_order_relaxed);
  const std::uint64_t now = os::ticks(), since = now - before;
  // One that takes long may be one of those in which the MPI does more now and then.
  int looks = 0;
  if (look(now)) {
    while (look(os::ticks())) {
      gap_.store(0, std::memory_order_relaxed);
      if (++looks == most_in_a_row) break;
    }
  }
  if (looks != 0) return;
  // From the first quiet look on the gap doubles, up to what its share of the time allows.
  const std::uint32_t gap = gap_.load(std::memory_order_relaxed);
  const std::uint64_t a_call = std::max<std::uint64_t>(1, since / (gap + 1));
  const std::uint64_t calls = idle_.load(std::memory_order_relaxed) * calls_share / a_call;
  const auto wanted = static_cast<std::uint32_t>(
      std::bit_ceil(std::clamp<std::uint64_t>(calls, 1, largest_gap + 1)) - 1);
  gap_.store(std::min(2 * gap + 1, wanted), std::memory_order_relaxed);
}

void Upkeep::while_waiting() {
  const std::uint64_t now = os::ticks();
  if (now - last_.load(std::memory_order_relaxed) <
      waiting_share * idle_.load(std::memory_order_relaxed))
    return;
  // What goes on will hardly be over with this wait.
  if (look(now) && look(os::ticks())) gap_.store(0, std::memory_order_relaxed);
}

}  // namespace tutti::fabric
