// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/suspending_wire.h"

namespace tutti::fabric {

Ticket SuspendingWire::add(const Order& order) {
  orders_.push_back(order);
  const Ticket ticket = ++added_;
  if (may_talk()) talk();
  return ticket;
}

bool SuspendingWire::start(const Order& order) {
  return order.sends ? messages_->send(order.member, order.memory, order.bytes, order.whole)
                     : messages_->receive(order.member, order.memory, order.bytes, order.whole);
}

void SuspendingWire::talk() {
  bool failed = false;
  while (!failed && !orders_.empty()) {
    failed = !start(orders_.front());
    orders_.pop_front();
    ++started_;
  }
  while (!failed && done_ < started_) {
    const Messages::State state = messages_->test_oldest();
    failed = state == Messages::State::failed;
    if (state != Messages::State::done) break;
    ++done_;
  }
  if (failed) provider_.lose_messages();
}

void SuspendingWire::abandon() {
  orders_.clear();
  done_ = started_ = added_;
  LibraryWire::abandon();
}

}  // namespace tutti::fabric
