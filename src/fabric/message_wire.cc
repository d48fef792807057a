// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/message_wire.h"

#include <algorithm>

namespace tutti::fabric {

bool MessageWire::wait_for(Ticket ticket) {
  NodeHost& host = fabric_.host();
  std::int64_t polls = 0;
  while (!failed_ && !host.failed() && done_ < ticket) {
    const Messages::State state = messages_->test_oldest();
    if (state == Messages::State::done) {
      ++done_;
      continue;
    }
    failed_ = state == Messages::State::failed;
    if (++polls > polls_) host.give_core();
    if (polls % 32 == 0 || Upkeep::presses()) Upkeep::while_waiting();
    if (polls % polls_per_look == 0 && host.is_left_behind(fabric_.desks())) break;
  }
  if (!host.shares_core() && polls > 0)
    polls_ = polls > polls_ ? polls_ / 2 : std::min(polls_ + 1, most_polls);
  if (failed_) host.lose_messages();
  return !failed_ && !host.failed();
}

void MessageWire::abandon() {
  messages_->abandon();
  // A message that has begun may still be on its way from it or to it.
  scratch_.abandon();
}

}  // namespace tutti::fabric
