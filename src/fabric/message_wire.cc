// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/message_wire.h"

#include <algorithm>

namespace tutti::fabric {

bool MessageWire::wait_for(Ticket ticket) {
  std::int64_t polls = 0;
  while (!failed_ && !provider_.failed() && done_ < ticket) {
    const Messages::State state = messages_->test_oldest();
    if (state == Messages::State::done) {
      ++done_;
      continue;
    }
    failed_ = state == Messages::State::failed;
    if (++polls > polls_) provider_.give_core();
    if (polls % 32 == 0 || Upkeep::presses()) Upkeep::while_waiting();
    if (polls % polls_per_look == 0 && provider_.is_left_behind(fabric_.desks())) break;
  }
  if (!provider_.shares_core() && polls > 0)
    polls_ = polls > polls_ ? polls_ / 2 : std::min(polls_ + 1, most_polls);
  if (failed_) provider_.lose_messages();
  return !failed_ && !provider_.failed();
}

}  // namespace tutti::fabric
