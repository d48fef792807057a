// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/questions.h"

#include <algorithm>

#include "mpi/handles.h"

namespace tutti::mpi {

// What is on its way still may be read. The MPI may have ended.
template <class H>
Questions<H>::~Questions() {
  for (Sent& each : sent_) (void)each.message.release();
}

template <class H>
void Questions<H>::add(CallLog& log) {
  const std::lock_guard lock(mutex_);
  logs_.push_back(&log);
}

template <class H>
void Questions<H>::remove(const CallLog& log) {
  const std::lock_guard lock(mutex_);
  std::erase(logs_, &log);
  const auto is_of_it = [&](const Heard& heard) {
    return log.is(heard.message.name, heard.message.blocking != 0);
  };
  std::erase_if(heard_, is_of_it);
  std::erase_if(answers_, is_of_it);
}

template <class H>
void Questions<H>::ask(int world_rank, const CallLog& log) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t number = log.number();
  send(world_rank, {log.name(), number, log.call(number), log.blocking() ? 1U : 0U, 0});
}

template <class H>
void Questions<H>::look() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;  // another thread does
  while (receive()) {
  }
  std::erase_if(heard_, [this](const Heard& heard) { return settle(heard); });
  if (heard_.size() > most_heard)
    heard_.erase(heard_.begin(), heard_.end() - static_cast<std::ptrdiff_t>(most_heard));
}

template <class H>
std::optional<typename Questions<H>::Answer> Questions<H>::answer(const CallLog& log) {
  const std::lock_guard lock(mutex_);
  for (const auto& [world_rank, message] : answers_)
    if (log.is(message.name, message.blocking != 0) && message.number == log.number())
      return Answer{world_rank, message.call, log.call(message.number)};
  return {};
}

template <class H>
void Questions<H>::send(int world_rank, const Message& message) {
  AnyStatus status;
  std::erase_if(sent_, [&](Sent& each) {
    int over = 0;
    return native_.test(&each.request, &over, &status) == 0 && over != 0;
  });
  Sent& sent = sent_.emplace_back();
  sent.message = std::make_unique<Message>(message);
  if (native_.isend(sent.message.get(), sizeof message, native_.byte, world_rank, tag_, comm_,
                    &sent.request) != 0)
    sent_.pop_back();
}

template <class H>
bool Questions<H>::receive() {
  AnyStatus status;
  int there = 0;
  if (native_.iprobe(any_source(native_.family), tag_, comm_, &there, &status) != 0 || there == 0)
    return false;
  // Not from anybody: on MPICH 5.0.2 (UCX over TCP) that receive does not end.
  const int from = status_layout(native_.family).source_of(&status);
  Message message{};
  H request{};
  if (native_.irecv(&message, sizeof message, native_.byte, from, tag_, comm_, &request) != 0)
    return false;
  for (int over = 0; over == 0;)
    if (native_.test(&request, &over, &status) != 0) return false;
  (message.answers != 0 ? answers_ : heard_).push_back({from, message});
  return true;
}

template <class H>
CallLog* Questions<H>::log_of(const Message& message) {
  const auto found = std::ranges::find_if(
      logs_, [&](CallLog* log) { return log->is(message.name, message.blocking != 0); });
  return found == logs_.end() ? nullptr : *found;
}

template <class H>
bool Questions<H>::settle(const Heard& heard) {
  const CallLog* log = log_of(heard.message);
  if (log == nullptr || log->number() < heard.message.number) return false;
  Message mine = heard.message;
  mine.call = log->call(mine.number);
  mine.answers = 1;
  if (mine.call != 0 && mine.call != heard.message.call) send(heard.world_rank, mine);
  return true;
}

template class Questions<int>;
template class Questions<void*>;

}  // namespace tutti::mpi
