// SPDX-License-Identifier: BSD-3-Clause
#include "progress/in_order_queue.h"

#include "coll/leaders/rows.h"
#include "coll/plans.h"
#include "fabric/suspending_wire.h"
#include "progress/rounding.h"

namespace tutti::progress {
namespace {

// While the rank goes on with an operation, its thread uses the kernel of that operation, and
// computes as the thread that called it.
class Binding {
 public:
  Binding(const Operation& operation, fabric::Executor driver)
      : bind_(driver == fabric::Executor::rank ? operation.bind : nullptr),
        rounding_(operation.float_control) {
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
  Rounding rounding_;
};

}  // namespace

struct InOrderQueue::Leading {
  Leading(const OtherNodes& others, fabric::SuspendingFabric& near, const choice::Plans& plans)
      : wire(others.messages, near.provider(), others.any_thread),
        all{.fabric = near, .wire = wire, .map = others.map, .plans = plans, .way = others.way} {}

  fabric::SuspendingWire wire;
  coll::leaders::Members<fabric::SuspendingFabric, fabric::SuspendingWire> all;
};

InOrderQueue::~InOrderQueue() = default;

InOrderQueue::InOrderQueue(std::vector<fabric::Peers::Peer> peers, memory::Transports transports,
                           segment::WaitPolicy wait_policy, fabric::Emergencies emergencies,
                           std::span<fabric::Desk* const> desks, int rank,
                           std::shared_ptr<const choice::Plans> plans, Fall fall,
                           const OtherNodes* others)
    : provider_(std::move(peers), transports, wait_policy, emergencies),
      desks_(desks),
      fall_(fall),
      plans_(std::move(plans)),
      fabric_(provider_, desks_, rank),
      inside_(&fabric::Desk::running, desks_, rank, provider_, wait_policy.asymmetric_fence) {
  fabric_.set_costs(plans_->costs);
  if (others != nullptr) leading_ = std::make_unique<Leading>(*others, fabric_, *plans_);
}

bool InOrderQueue::asks() const { return leading_ != nullptr && leading_->wire.is_busy(); }

bool InOrderQueue::may_ask(fabric::Executor driver) const {
  return leading_ != nullptr && leading_->wire.may_talk(driver);
}

bool InOrderQueue::is_called_off() { return leading_->wire.is_called_off(); }

std::optional<fabric::Messages::Stray> InOrderQueue::find_stray() {
  return leading_->wire.find_stray();
}

void InOrderQueue::end_messages(bool tells) {
  leading_->wire.abandon();
  if (tells) leading_->wire.call_off();
}

void InOrderQueue::start(Operation& operation) {
  const bool wary = !inside_.enter(operation.number);
  fabric_.begin(operation.call, wary ? operation.number : 0);
  provider_.begin_call(operation.work.timed, operation.work.operands != nullptr);
  if (leading_ != nullptr) {
    const coll::Work& work = operation.work;
    leading_->wire.enter(operation.collective, work.root, work.op, operation.call);
    task_.emplace(coll::leaders::run(leading_->all, operation.collective, work));
    return;
  }
  if (const auto* row =
          coll::row_of<fabric::SuspendingFabric>(*plans_, operation.collective, operation.work))
    task_.emplace(row->run(fabric_, operation.work));
}

bool InOrderQueue::advance(fabric::Executor driver, bool only_posts, OperationList& finished) {
  watch_ = {};
  if (operations_.empty()) return false;
  provider_.driven_by(driver, only_posts);
  const Operation& first = *operations_.first();
  const Binding binding(first, driver);
  trace::Span span(trace::on() && driver == fabric::Executor::progress, trace::Kind::progress,
                   what_of(first), first.bytes);
  const bool moved = go_on(finished);
  if (!moved) span.forget();
  return moved;
}

// After an error the leaders' messages are to be given up.
bool InOrderQueue::may_conclude() const {
  return leading_ == nullptr || !provider_.failed() || may_ask(provider_.driver());
}

bool InOrderQueue::go_on(OperationList& finished) {
  if (provider_.failed()) return end_failed(finished);
  if (!task_) {
    start(*operations_.first());
  } else if (!provider_.resume(watch_) && !provider_.failed()) {
    // A wait for messages has asked for them already.
    if (watch_.word != nullptr && may_ask(provider_.driver())) leading_->wire.talk();
    return false;
  }
  if (!provider_.failed() && !task_->done()) return true;
  (void)provider_.has_read_in_vain();  // then it has failed now
  return provider_.failed() ? end_failed(finished) : conclude(finished);
}

// Nobody goes on with the operation, whoever may conclude it.
bool InOrderQueue::end_failed(OperationList& finished) {
  inside_.leave(operations_.first()->number);
  return may_conclude() && conclude(finished);
}

void InOrderQueue::look_after(OperationList& finished) {
  if (fell_) return;
  const bool rank_waits = provider_.driver() == fabric::Executor::rank;
  const bool asks_now = asks() && may_ask(provider_.driver());
  const bool in_vain = watch_.word != nullptr
                           ? provider_.in_vain(watch_, rank_waits)
                           : asks_now && provider_.is_left_behind(desks_, rank_waits);
  if (in_vain) (void)end_failed(finished);
}

// Only the first one that fails had begun. What comes later is told the same.
void InOrderQueue::fall(Operation& first) {
  fell_ = true;
  if (!withdrawn_) {
    inside_.withdraw(first.number);
    withdrawn_ = first.number;
  }
  if (fall_.fall != nullptr)
    fall_.fall(fall_.context, first);
  else
    desks_[static_cast<std::size_t>(fabric_.rank())]->fail(segment::Ending::broken);
}

bool InOrderQueue::is_out_of_use() {
  watch_ = {};
  const auto* word = inside_.in_use(*withdrawn_);
  // Nobody wakes those who sleep on it, so any count of sleepers will do; their naps end.
  if (word != nullptr)
    watch_ = {word, &desks_[0]->sleepers, word->load(std::memory_order_relaxed), 0, desks_};
  return word == nullptr;
}

// The first operation has ended. After an error all of them have.
bool InOrderQueue::conclude(OperationList& finished) {
  const bool failed = provider_.failed();
  if (failed && !fell_) fall(*operations_.first());
  if (failed && !is_out_of_use()) return false;
  if (!failed) inside_.leave(operations_.first()->number);
  task_.reset();
  watch_ = {};
  if (!failed) {  // else nothing is used again
    provider_.tidy(operations_.first()->bytes);
    if (leading_ != nullptr) leading_->wire.end_call();
  }
  do {
    Operation& operation = *operations_.pop();
    operation.succeeded = !failed;
    operation.route = leading_ != nullptr ? fabric::Route::messages : provider_.route();
    if (leading_ != nullptr) operation.sent = leading_->wire.sent();
    operation.work_ticks = provider_.work_ticks();
    operation.worked_bytes = provider_.worked_bytes(operation.bytes);
    if (trace::on()) operation.ended = trace::now();
    finished.push(operation);
  } while (failed && !operations_.empty());
  fell_ = false;
  return true;
}

}  // namespace tutti::progress
