// SPDX-License-Identifier: BSD-3-Clause
#include "engine/mixup.h"

#include <atomic>

namespace tutti::engine {
namespace {

using segment::Desk;
using segment::Starts;
using segment::Step;

// The owner may have posted nothing in that collective, but somebody has.
std::uint64_t call_of_any_after(Desks desks, int owner, Step after) {
  std::uint64_t call = call_after(*desks[static_cast<std::size_t>(owner)], after);
  for (std::size_t i = 0; call == 0 && i < desks.size(); ++i) call = call_after(*desks[i], after);
  return call;
}

std::uint64_t starts_of(const Desk& desk) {
  return desk.starts.count.load(std::memory_order_acquire);  // pairs with publish_start()
}

// Whether the owner has come to the blocking collective whose first step is `first`. A member that
// posts nothing in it counts once it has finished that step; nobody waits for it there.
bool has_entered(const Desk& desk, Step first) {
  return desk.lines[first % segment::ring].step.load(std::memory_order_acquire) >= first ||
         desk.done.load(std::memory_order_acquire) >= first;
}

const Starts::Start& start_of(const Desk& desk, std::uint64_t number) {
  return desk.starts.latest[number % Starts::kept];
}

}  // namespace

std::uint64_t call_after(Desk& desk, Step after) {
  Step first = 0;
  std::uint64_t call = 0;
  for (segment::Line& line : desk.lines) {
    const Step step = line.step.load(std::memory_order_acquire);
    if (step <= after || (first != 0 && step >= first)) continue;
    const std::uint64_t seen = std::atomic_ref(line.call).load(std::memory_order_acquire);
    if (line.step.load(std::memory_order_relaxed) != step) continue;
    first = step;
    call = seen;
  }
  return call;
}

void publish_start(Desk& mine, Step after, std::uint64_t call) {
  const std::uint64_t number = mine.starts.count.load(std::memory_order_relaxed) + 1;
  Starts::Start& start = mine.starts.latest[number % Starts::kept];
  start.after.store(after, std::memory_order_relaxed);
  start.call.store(call, std::memory_order_relaxed);
  mine.starts.count.store(number, std::memory_order_release);  // pairs with starts_of()
}

std::optional<Mixup> find_mixup_in_call(Desks desks, int rank, Step first, std::uint64_t call) {
  Desk& mine = *desks[static_cast<std::size_t>(rank)];
  const std::uint64_t next = starts_of(mine) + 1;
  for (int peer = 0; peer < static_cast<int>(desks.size()); ++peer) {
    const Desk& theirs = *desks[static_cast<std::size_t>(peer)];
    if (starts_of(theirs) < next) continue;
    const Starts::Start& start = start_of(theirs, next);
    const Step after = start.after.load(std::memory_order_relaxed);
    if (after >= first) continue;  // it has been in this call
    const std::uint64_t before = call_after(mine, after);
    return Mixup{.starter = peer,
                 .started = start.call.load(std::memory_order_relaxed),
                 .blocker = rank,
                 .blocking = before != 0 ? before : call,
                 .number = next,
                 .step = first,
                 .met = has_entered(theirs, first)};
  }
  return {};
}

std::optional<Mixup> find_mixup_in_wait(Desks desks, int rank) {
  const Desk& mine = *desks[static_cast<std::size_t>(rank)];
  for (int peer = 0; peer < static_cast<int>(desks.size()); ++peer) {
    const Desk& theirs = *desks[static_cast<std::size_t>(peer)];
    // `done` is read first, so that all it started before it finished that step is counted.
    const Step done = theirs.done.load(std::memory_order_acquire);  // pairs with finish()
    const std::uint64_t next = starts_of(theirs) + 1;
    if (starts_of(mine) < next) continue;
    const Starts::Start& start = start_of(mine, next);
    const Step after = start.after.load(std::memory_order_relaxed);
    if (done <= after) continue;
    return Mixup{.starter = rank,
                 .started = start.call.load(std::memory_order_relaxed),
                 .blocker = peer,
                 .blocking = call_of_any_after(desks, peer, after),
                 .number = next,
                 .step = done,
                 .met = has_entered(mine, done)};
  }
  return {};
}

}  // namespace tutti::engine
