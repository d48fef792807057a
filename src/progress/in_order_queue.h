// SPDX-License-Identifier: BSD-3-Clause
// An in-order queue: the nonblocking collectives of one communicator. They run one after the other,
// on desks of their own, so that blocking ones may overtake them. All members call them in the same
// order. So when a later one waits for an earlier one, that had to happen anyway.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "choice/plans.h"
#include "coll/leaders/way.h"
#include "fabric/inside.h"
#include "fabric/messages.h"
#include "fabric/node_map.h"
#include "fabric/suspending.h"
#include "progress/operation.h"

namespace tutti::progress {

// What to do when the first operation of a queue has met an error, and the rest fails with it. It
// is to tell the other members, by Desk::fail(). Without it they are told that the queue is broken.
struct Fall {
  void* context = nullptr;
  void (*fall)(void* context, Operation& first) = nullptr;
};

// What there is where the members are on several nodes.
struct OtherNodes {
  const fabric::NodeMap& map;                  // outlives the queue
  std::shared_ptr<fabric::Messages> messages;  // members are ranks in `map`
  bool any_thread = false;                     // may send and receive them, or only the rank's own
  coll::leaders::Way way = {};
};

// One thread at a time may call the functions. The Driver decides whose turn it is.
class InOrderQueue {
 public:
  InOrderQueue(std::vector<fabric::Peers::Peer> peers, memory::Transports transports,
               segment::WaitPolicy wait_policy, fabric::Emergencies emergencies,
               std::span<fabric::Desk* const> desks, int rank,
               std::shared_ptr<const choice::Plans> plans, Fall fall = {},
               const OtherNodes* others = nullptr);
  ~InOrderQueue();

  void add(Operation& operation) { operations_.push(operation); }
  [[nodiscard]] bool idle() const { return operations_.empty(); }
  [[nodiscard]] bool running() const { return task_.has_value(); }
  // Whether the first operation moves at most so many bytes. Only where the queue is not idle.
  [[nodiscard]] bool is_small(std::size_t most) const { return operations_.first()->bytes <= most; }

  // Goes on as far as it can without waiting. Operations that end go to `finished`. False: nothing
  // could be done. For `only_posts` see fabric/suspending.h.
  bool advance(fabric::Executor driver, bool only_posts, OperationList& finished);
  // Whether only the rank may apply the operation of the first one. Only where the queue is not
  // idle.
  [[nodiscard]] bool is_late() const { return operations_.first()->work.operands != nullptr; }
  // What the last advance() found missing; a null word: another driver.
  [[nodiscard]] const fabric::Watch& watch() const { return watch_; }
  // Whether messages between nodes are under way, which ring no doorbell: one has to ask again; and
  // whether `driver` may.
  [[nodiscard]] bool asks() const;
  [[nodiscard]] bool may_ask(fabric::Executor driver) const;
  // Looks whether the members that it waits for are still there. If not, all operations fail.
  void look_after(OperationList& finished);

  // Where there are other nodes.
  //  - Whether a member there has met an error.
  [[nodiscard]] bool is_called_off();
  //  - As fabric::Messages::find_stray().
  [[nodiscard]] std::optional<fabric::Messages::Stray> find_stray();
  //  - After an error nobody goes on: this rank neither. `tells`: the others have not heard of it.
  void end_messages(bool tells);

  [[nodiscard]] const std::shared_ptr<const void>& owner() const {
    return operations_.first()->owner;
  }
  [[nodiscard]] fabric::Step first_step() const { return fabric_.first_step(); }
  [[nodiscard]] fabric::Step last_step() const { return fabric_.last_step(); }
  [[nodiscard]] std::uint64_t call() const { return fabric_.call(); }

 private:
  struct Leading;
  bool go_on(OperationList& finished);
  [[nodiscard]] bool may_conclude() const;
  void start(Operation& operation);
  bool end_failed(OperationList& finished);
  // False: after an error others still use the buffers of the first operation.
  bool conclude(OperationList& finished);
  [[nodiscard]] bool is_out_of_use();
  void fall(Operation& first);

  fabric::SuspendingProvider provider_;
  std::span<fabric::Desk* const> desks_;
  Fall fall_;
  std::shared_ptr<const choice::Plans> plans_;
  fabric::SuspendingFabric fabric_;
  fabric::Inside inside_;
  std::unique_ptr<Leading> leading_;  // where there are other nodes
  OperationList operations_;          // the first is under way once task_ is there
  std::optional<fabric::Task> task_;
  fabric::Watch watch_;
  bool fell_ = false;  // the first operation has, and buffers may still be in use
  std::optional<std::uint64_t> withdrawn_;  // from which operation
};

}  // namespace tutti::progress
