// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/message_wire.h"

#include <algorithm>

#include "base/log.h"

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
    if (polls % 32 == 0) Upkeep::while_waiting();
    if (polls % polls_per_look == 0 && host.is_left_behind(fabric_.desks())) break;
  }
  if (!host.shares_core() && polls > 0)
    polls_ = polls > polls_ ? polls_ / 2 : std::min(polls_ + 1, most_polls);
  if (failed_) host.lose_messages();
  return !failed_ && !host.failed();
}

void MessageWire::end_call() {
  if (scratch_bytes_ <= kept_scratch_bytes) return;
  scratch_.reset();
  scratch_bytes_ = 0;
}

void MessageWire::abandon() {
  messages_->abandon();
  // A message that has begun may still be on its way from it or to it.
  (void)scratch_.release();
  scratch_bytes_ = 0;
}

std::byte* MessageWire::scratch(std::size_t bytes) {
  if (bytes <= scratch_bytes_) return scratch_.get();
  scratch_.reset();
  scratch_bytes_ = round_up(bytes, page_bytes);
  scratch_.reset(static_cast<std::byte*>(std::aligned_alloc(page_bytes, scratch_bytes_)));
  if (scratch_ == nullptr) {
    log::fatal("out of memory: %zu bytes of scratch for a collective of several nodes", bytes);
    std::abort();
  }
  return scratch_.get();
}

}  // namespace tutti::fabric
