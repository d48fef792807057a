// SPDX-License-Identifier: BSD-3-Clause
#include "lab/sim_wire.h"

#include <algorithm>
#include <cstring>

namespace tutti::lab {

void SimWire::check(fabric::Bytes message) {
  simulator_.trespasses_ += simulator_.mapped_[static_cast<std::size_t>(rank_)].count(
      message, simulator_.fabric(rank_).call());
}

Ticket SimWire::send(int member, const void* from, std::size_t bytes, fabric::Whole whole) {
  auto message = std::make_shared<SimMail::Message>();
  message->from = static_cast<const std::byte*>(from);
  check({message->from, bytes});
  message->bytes = bytes;
  message->whole = whole;
  message->eager = whole == fabric::Whole::no && simulator_.random()() % 2 == 0;
  if (message->eager) message->copy.assign(message->from, message->from + bytes);
  mail_.channel(rank_, member).sent.push_back(message);
  pending_.push_back({.ticket = ++last_, .sent = std::move(message)});
  simulator_.interrupt();
  return last_;
}

Ticket SimWire::receive(int member, void* to, std::size_t bytes, fabric::Whole whole) {
  SimMail::Channel& channel = mail_.channel(member, rank_);
  pending_.push_back({.ticket = ++last_,
                      .sent = nullptr,
                      .channel = &channel,
                      .number = channel.received++,
                      .to = static_cast<std::byte*>(to),
                      .bytes = bytes,
                      .whole = whole});
  receiving().push_back({static_cast<const std::byte*>(to), bytes});
  check(receiving().back());
  // A network writes to the buffer whenever it likes.
  if (simulator_.random()() % 2 == 0) (void)are_done(last_);
  simulator_.interrupt();
  return last_;
}

bool SimWire::is_done(Pending& pending) {
  if (pending.sent != nullptr) return pending.sent->eager || pending.sent->taken;
  if (pending.number >= pending.channel->sent.size()) return false;
  SimMail::Message& message = *pending.channel->sent[pending.number];
  if (message.bytes != pending.bytes || message.whole != pending.whole) ++simulator_.mismatches_;
  const std::size_t bytes = std::min(message.bytes, pending.bytes);
  if (bytes > 0) std::memcpy(pending.to, message.eager ? message.copy.data() : message.from, bytes);
  message.taken = true;
  return true;
}

bool SimWire::are_done(Ticket ticket) {
  std::erase_if(pending_, [this](Pending& pending) { return is_done(pending); });
  receiving().clear();
  for (const Pending& pending : pending_)
    if (pending.to != nullptr) receiving().push_back({pending.to, pending.bytes});
  return std::none_of(pending_.begin(), pending_.end(),
                      [ticket](const Pending& pending) { return pending.ticket <= ticket; });
}

void SimWire::mismatch(int, std::uint64_t, std::uint64_t) { ++simulator_.mismatches_; }

void SimWire::truncation(int, std::size_t, std::size_t) { ++simulator_.mismatches_; }

bool SimWire::begin_call() {
  const bool tidy = pending_.empty() && asked_ <= 1;
  asked_ = 0;
  simulator_.give_back(scratch_);
  scratch_ = {};
  simulator_.offered_[static_cast<std::size_t>(rank_)].clear();
  simulator_.mapped_[static_cast<std::size_t>(rank_)].clear();
  return tidy;
}

std::byte* SimWire::scratch(std::size_t bytes) {
  ++asked_;
  scratch_.assign(bytes, std::byte{0x3d});
  return scratch_.data();
}

}  // namespace tutti::lab
