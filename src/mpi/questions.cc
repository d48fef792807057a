// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/questions.h"

#include <algorithm>

#include "mpi/handles.h"

namespace tutti::mpi {
namespace {

template <class T>
void keep_last(std::deque<T>& all, std::size_t most) {
  if (all.size() > most) all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(most));
}

}  // namespace

// What is on its way still may be read. The MPI may have ended.
template <class H>
Questions<H>::~Questions() {
  for (Sent& each : sent_) (void)each.message.release();
}

template <class H>
void Questions<H>::open(H comm, int tag) {
  comm_ = comm;
  tag_ = tag;
  const std::lock_guard lock(opening_);
  all().push_back(this);
  any_is_open_ = true;
}

template <class H>
void Questions<H>::close() {
  {
    const std::lock_guard lock(opening_);
    std::erase(all(), this);
    any_is_open_ = !all().empty();
  }
  look();
}

template <class H>
void Questions<H>::look_now_and_then() {
  if (!any_is_open_ || !looking_.has_come()) return;
  const std::lock_guard lock(opening_);
  for (Questions* const each : all()) each->look();
}

template <class H>
void Questions<H>::add(const CallLog& log) {
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
  std::erase_if(answers_, is_of_it);
  const std::uint64_t number = log.number();
  if (number != 0) ended_.push_back({log.name(), number, log.call(number), log.blocking()});
  keep_last(ended_, most_ended);
}

template <class H>
void Questions<H>::ask(int rank, const CallLog& log) {
  const std::lock_guard lock(talking_);
  const std::uint64_t number = log.number();
  send(rank, {log.name(), number, log.call(number), log.blocking() ? 1U : 0U, 0});
}

template <class H>
void Questions<H>::look() {
  const std::unique_lock lock(talking_, std::try_to_lock);
  if (!lock) return;  // another thread does
  forget_sent();
  while (const std::optional<Heard> heard = receive()) keep(*heard);
  for (const Heard& each : settle()) send(each.rank, each.message);
}

template <class H>
std::optional<typename Questions<H>::Answer> Questions<H>::answer(const CallLog& log) {
  const std::lock_guard lock(mutex_);
  for (const auto& [rank, message] : answers_)
    if (log.is(message.name, message.blocking != 0) && message.number == log.number())
      return Answer{rank, message.call, log.call(message.number)};
  return {};
}

template <class H>
void Questions<H>::send(int rank, const Message& message) {
  Sent& sent = sent_.emplace_back();
  sent.message = std::make_unique<Message>(message);
  if (native_.isend(sent.message.get(), sizeof message, native_.byte, rank, tag_, comm_,
                    &sent.request) != 0)
    sent_.pop_back();
}

template <class H>
void Questions<H>::forget_sent() {
  AnyStatus status;
  std::erase_if(sent_, [&](Sent& each) {
    int over = 0;
    return native_.test(&each.request, &over, &status) == 0 && over != 0;
  });
}

template <class H>
std::optional<typename Questions<H>::Heard> Questions<H>::receive() {
  AnyStatus status;
  int there = 0;
  if (native_.iprobe(any_source(native_.family), tag_, comm_, &there, &status) != 0 || there == 0)
    return {};
  // Not from anybody: on MPICH 5.0.2 (UCX over TCP) that receive does not end.
  const int from = status_layout(native_.family).source_of(&status);
  Message message{};
  H request{};
  if (native_.irecv(&message, sizeof message, native_.byte, from, tag_, comm_, &request) != 0)
    return {};
  for (int over = 0; over == 0;)
    if (native_.test(&request, &over, &status) != 0) return {};
  return Heard{from, message};
}

template <class H>
void Questions<H>::keep(const Heard& heard) {
  const std::lock_guard lock(mutex_);
  (heard.message.answers != 0 ? answers_ : heard_).push_back(heard);
}

template <class H>
const CallLog* Questions<H>::log_of(const Message& message) const {
  const auto found = std::ranges::find_if(
      logs_, [&](const CallLog* log) { return log->is(message.name, message.blocking != 0); });
  return found == logs_.end() ? nullptr : *found;
}

template <class H>
std::uint64_t Questions<H>::ended_call(const Message& message) const {
  for (const Ended& each : ended_)
    if (each.name == message.name && each.blocking == (message.blocking != 0) &&
        each.number == message.number)
      return each.call;
  return 0;
}

template <class H>
std::vector<typename Questions<H>::Heard> Questions<H>::settle() {
  const std::lock_guard lock(mutex_);
  std::vector<Heard> replies;
  std::erase_if(heard_, [&](const Heard& heard) {
    const auto& [rank, message] = heard;
    const CallLog* log = log_of(message);
    if (log != nullptr && log->number() < message.number) return false;
    const std::uint64_t mine = log != nullptr ? log->call(message.number) : ended_call(message);
    if (mine != 0 && mine != message.call)
      replies.push_back({rank, {message.name, message.number, mine, message.blocking, 1}});
    return log != nullptr || mine != 0;
  });
  keep_last(heard_, most_heard);
  keep_last(answers_, most_answers);
  return replies;
}

template class Questions<int>;
template class Questions<void*>;

}  // namespace tutti::mpi
