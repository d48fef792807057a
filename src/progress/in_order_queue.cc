// SPDX-License-Identifier: BSD-3-Clause
#include "progress/in_order_queue.h"

#include "coll/plans.h"

namespace tutti::progress {
namespace {

// While the rank goes on with an operation, its thread uses the kernel of that operation.
class Binding {
 public:
  Binding(const Operation& operation, fabric::Executor driver)
      : bind_(driver == fabric::Executor::rank ? operation.bind : nullptr) {
    if (bind_ != nullptr) before_ = bind_(operation.bound);
  }
  ~Binding() {
    if (bind_ != nullptr) (void)bind_(before_);
  }
  Binding(const Binding&) = delete;
  Binding& operator=(const Binding&) = delete;

 private:
  const void* (*bind_)(const void*);
  const void* before_ = nullptr;
};

}  // namespace

InOrderQueue::InOrderQueue(std::vector<fabric::Peers::Peer> peers, memory::Transports transports,
                           segment::WaitPolicy wait_policy, fabric::Emergencies emergencies,
                           std::span<fabric::Desk* const> desks, int rank,
                           std::shared_ptr<const choice::Plans> plans, Fall fall)
    : host_(std::move(peers), transports, wait_policy, emergencies),
      desks_(desks),
      fall_(fall),
      plans_(std::move(plans)),
      fabric_(host_, desks_, rank) {
  fabric_.set_costs(plans_->costs);
}

void InOrderQueue::start(Operation& operation) {
  fabric_.begin(operation.call);
  host_.begin_call(operation.work.timed, operation.work.operands != nullptr);
  if (const auto* row =
          coll::row_of<fabric::SuspendingFabric>(*plans_, operation.collective, operation.work))
    task_.emplace(row->run(fabric_, operation.work));
}

bool InOrderQueue::advance(fabric::Executor driver, bool only_posts, OperationList& finished) {
  watch_ = {};
  if (operations_.empty()) return false;
  host_.driven_by(driver, only_posts);
  const Operation& first = *operations_.first();
  const Binding binding(first, driver);
  trace::Span span(trace::on() && driver == fabric::Executor::progress, trace::Kind::progress,
                   what_of(first), first.bytes);
  const bool moved = go_on(finished);
  if (!moved) span.forget();
  return moved;
}

bool InOrderQueue::go_on(OperationList& finished) {
  if (host_.failed()) {
    conclude(finished);
    return true;
  }
  if (!task_)
    start(*operations_.first());
  else if (!host_.resume(watch_) && !host_.failed())
    return false;
  if (!host_.failed() && !task_->done()) return true;
  (void)host_.has_read_in_vain();  // then it has failed now
  conclude(finished);
  return true;
}

void InOrderQueue::look_after(OperationList& finished) {
  if (watch_.word != nullptr && host_.in_vain(watch_, host_.driver() == fabric::Executor::rank))
    conclude(finished);
}

// The first operation has ended. After an error all of them have.
void InOrderQueue::conclude(OperationList& finished) {
  const bool failed = host_.failed();
  if (failed && fall_.fall != nullptr)
    fall_.fall(fall_.context, *operations_.first());
  else if (failed)
    desks_[static_cast<std::size_t>(fabric_.rank())]->fail(segment::Ending::broken);
  task_.reset();
  watch_ = {};
  if (!failed)
    host_.tidy(operations_.first()->bytes);  // else peers may still be reading or writing
  do {
    Operation& operation = *operations_.pop();
    operation.succeeded = !failed;
    operation.route = host_.route();
    operation.work_ticks = host_.work_ticks();
    operation.worked_bytes = host_.worked_bytes(operation.bytes);
    if (trace::on()) operation.ended = trace::now();
    finished.push(operation);
  } while (failed && !operations_.empty());
}

}  // namespace tutti::progress
