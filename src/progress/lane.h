// SPDX-License-Identifier: BSD-3-Clause
// A lane: the nonblocking collectives of one communicator, one after the other, on desks of their
// own, so that blocking ones may overtake them. As all members call them in the same order, a later
// one that waits for an earlier one waits for nothing that would not have to happen anyway.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "fabric/lane.h"
#include "progress/operation.h"

namespace tutti::progress {

// What is done when the first operation of a lane has met an error, and the rest fails with it: the
// others are to be told, by Desk::fail(). Without it, that the lane is broken.
struct Fall {
  void* context = nullptr;
  void (*fall)(void* context, Operation& first) = nullptr;
};

// One thread at a time may call the members; whose turn it is decides the Driver.
class Lane {
 public:
  Lane(std::vector<fabric::Peers::Peer> peers, memory::Ways ways, segment::Patience patience,
       fabric::Emergencies emergencies, std::span<fabric::Desk* const> desks, int rank,
       Fall fall = {});

  void add(Operation& operation) { queue_.push(operation); }
  [[nodiscard]] bool idle() const { return queue_.empty(); }
  [[nodiscard]] bool running() const { return task_.has_value(); }
  // Of one that has something to do.
  [[nodiscard]] bool is_small(std::size_t most) const { return queue_.first()->bytes <= most; }

  // Goes on as far as it can without waiting. Operations that end go to `finished`. False: nothing
  // could be done. `only_posts` see fabric/lane.h.
  bool advance(fabric::Executor driver, bool only_posts, Queue& finished);
  // Only the rank may apply the operation of what it has to do.
  [[nodiscard]] bool is_late() const { return queue_.first()->work.operands != nullptr; }
  // What the last advance() found missing; a null word: another driver.
  [[nodiscard]] const fabric::Watch& watch() const { return watch_; }
  // Looks whether those it waits for are still there. If not, all operations end in failure.
  void look_after(Queue& finished);

  [[nodiscard]] const std::shared_ptr<const void>& owner() const { return queue_.first()->owner; }
  [[nodiscard]] fabric::Step first_step() const { return fabric_.first_step(); }
  [[nodiscard]] fabric::Step last_step() const { return fabric_.last_step(); }
  [[nodiscard]] std::uint64_t call() const { return fabric_.call(); }

 private:
  bool go_on(Queue& finished);
  void start(Operation& operation);
  void conclude(Queue& finished);

  fabric::LaneHost host_;
  std::span<fabric::Desk* const> desks_;
  Fall fall_;
  fabric::LaneFabric fabric_;
  Queue queue_;  // the first is under way once task_ is there
  std::optional<fabric::Task> task_;
  fabric::Watch watch_;
};

}  // namespace tutti::progress
