// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/upkeep.h"

#include <algorithm>
#include <bit>

#include "arch/arch.h"
#include "commons/commons.h"

namespace tutti::fabric {

namespace {
// How long a message takes at least. The ticks of some machines come 26 at a time.
constexpr std::uint64_t least_ticks = 64;

// The mean of what looks take, with one more. What an interrupted one takes says nothing: it counts
// as four of the usual ones at most. And where it was the first one, all else is known by the next.
// All in the same unit, of which `least_ticks` are `least`.
std::uint64_t mean_with(std::uint64_t took, std::uint64_t mean, std::uint64_t least) {
  if (mean == 0) mean = took;
  mean = mean - mean / 8 + std::min(took, 4 * mean) / 8;
  return std::clamp<std::uint64_t>(mean, 1, 4 * (took + least));
}
}  // namespace

bool UsualLook::exceeded_by(std::uint64_t ticks) {
  const std::uint64_t usual = usual_.load(std::memory_order_relaxed), took = ticks * parts;
  const bool longer = usual != 0 && took > usual + usual / 4 + least_ticks * parts;
  // A long look mostly brings something forward, so it counts little. It counts at all, because the
  // MPI may have got more to look after for good.
  usual_.store(longer ? usual + usual / 16384 + 1 : mean_with(took, usual, least_ticks * parts),
               std::memory_order_relaxed);
  return longer;
}

// `begin`: the time now. True: something was brought forward.
bool Upkeep::look_until_quiet(std::uint64_t begin) {
  const Look look = look_.load(std::memory_order_relaxed);
  behind_.store(false,
                std::memory_order_relaxed);  // before: another thread's call may end meanwhile
  if (look == nullptr) return false;
  look();
  std::uint64_t end = arch::ticks();
  int moves = 0;
  // One long look alone says little: the MPI does more in some looks than in others.
  if (first_.exceeded_by(end - begin) || !next_.is_known()) {
    for (bool moved = true; moved && moves < most_in_a_row;) {
      const std::uint64_t before = end;
      look();
      end = arch::ticks();
      moved = next_.exceeded_by(end - before);
      if (moved) ++moves;
    }
  }
  last_.store(end, std::memory_order_relaxed);
  if (moves != 0) {
    gap_.store(0, std::memory_order_relaxed);
    return true;
  }
  const std::uint64_t cost = cost_.load(std::memory_order_relaxed);
  cost_.store(mean_with(end - begin, cost, least_ticks), std::memory_order_relaxed);
  return false;
}

void Upkeep::between_calls(bool looks) {
  const std::uint64_t now = arch::ticks(), since = now - last_.load(std::memory_order_relaxed);
  if (!looks)
    skip_look();
  else if (look_until_quiet(now))
    return;
  if (tending_.has_come()) [[unlikely]] {
    commons::tend();
    if (const Look tend = tend_.load(std::memory_order_relaxed)) tend();
  }
  // From the first quiet look on the gap doubles, until looks take their share of the time.
  const std::uint32_t gap = gap_.load(std::memory_order_relaxed);
  const std::uint64_t a_call = std::max<std::uint64_t>(1, since / (gap + 1));
  const std::uint64_t wanted_calls = cost_.load(std::memory_order_relaxed) * calls_share / a_call;
  const auto wanted = static_cast<std::uint32_t>(
      std::bit_ceil(std::clamp<std::uint64_t>(wanted_calls, 1, largest_gap + 1)) - 1);
  gap_.store(std::min(2 * gap + 1, wanted), std::memory_order_relaxed);
}

void Upkeep::catch_up() { look_until_quiet(arch::ticks()); }

void Upkeep::while_waiting() {
  if (presses()) {
    if (const Look look = look_.load(std::memory_order_relaxed)) look();
    return;
  }
  const std::uint64_t now = arch::ticks();
  if (now - last_.load(std::memory_order_relaxed) >=
      waiting_share * cost_.load(std::memory_order_relaxed))
    look_until_quiet(now);
}

}  // namespace tutti::fabric
