// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>

#include "coll/work.h"
#include "fabric/messages.h"
#include "fabric/route.h"
#include "trace/trace.h"

namespace tutti::progress {

class InOrderQueue;

// A nonblocking collective from its call to its completion. What `work` points to lives as long.
struct Operation {
  coll::Collective collective = coll::Collective::barrier;
  coll::Work work;
  std::uint64_t call = 0;    // the same on all members, see fabric/desk_fabric.h
  std::uint64_t number = 0;  // the same on all members, of its start: see engine/leaving.h
  std::size_t bytes = 0;     // that this rank moves
  InOrderQueue* queue = nullptr;
  std::shared_ptr<const void> owner;  // of the queue

  // For kernels that depend on the thread that runs them. bind(bound) makes this thread's kernel
  // that of this operation, and returns what it was before, to be bound again. Only on threads of
  // the rank.
  const void* (*bind)(const void* operation) = nullptr;
  const void* bound = nullptr;

  // arch::float_control() of the thread that called it, if the collective computes; else 0. Whoever
  // computes does it so (progress/rounding.h).
  std::uint64_t float_control = 0;

  trace::Moment called = {};

  // When it has finished:
  bool succeeded = false;
  fabric::Route route = fabric::Route::line;
  fabric::Sent sent;             // to other nodes
  std::uint64_t work_ticks = 0;  // see fabric/suspending.h
  std::size_t worked_bytes = 0;
  trace::Moment ended = {};

  Operation* next = nullptr;  // in the list that it is in
};

// The number that traces have for it: blocking collectives come first, then the nonblocking ones.
[[nodiscard]] inline trace::What what_of(const Operation& operation) {
  return static_cast<trace::What>(coll::collective_count +
                                  static_cast<std::size_t>(operation.collective));
}

// Operations in order, linked by Operation::next.
class OperationList {
 public:
  [[nodiscard]] bool empty() const { return first_ == nullptr; }
  [[nodiscard]] Operation* first() const { return first_; }
  void push(Operation& operation) {
    operation.next = nullptr;
    (first_ == nullptr ? first_ : last_->next) = &operation;
    last_ = &operation;
  }
  Operation* pop() {
    Operation* operation = first_;
    if (operation != nullptr) first_ = operation->next;
    return operation;
  }

 private:
  Operation* first_ = nullptr;
  Operation* last_ = nullptr;
};

}  // namespace tutti::progress
