// SPDX-License-Identifier: BSD-3-Clause
// fabric/message_wire: a Wire over messages of a library, for ranks whose waits block, beside the
// NodeFabric of the same rank. A wait looks at the messages all the time, as only that brings them
// forward, and gives the core away where other ranks need it.
#pragma once

#include <memory>

#include "fabric/messages.h"
#include "fabric/node.h"
#include "fabric/wire.h"

namespace tutti::fabric {

class MessageWire {
 public:
  // `fabric` is that of this rank's node, and outlives the wire.
  MessageWire(std::unique_ptr<Messages> messages, NodeFabric& fabric)
      : messages_(std::move(messages)),
        fabric_(fabric),
        polls_(fabric.host().shares_core() ? 0 : most_polls) {}

  Ticket send(int member, const void* from, std::size_t bytes) {
    sent_.add(bytes);
    return start(messages_->send(member, from, bytes));
  }
  Ticket receive(int member, void* to, std::size_t bytes) {
    return start(messages_->receive(member, to, bytes));
  }

  struct Await {
    MessageWire& wire;
    Ticket ticket;
    bool await_ready() { return wire.wait_for(ticket); }
    void await_suspend(std::coroutine_handle<>) const noexcept {}  // after an error, for good
    void await_resume() const noexcept {}
  };
  [[nodiscard]] Await done(Ticket ticket) { return {*this, ticket}; }
  void mismatch(int member, std::uint64_t theirs) {
    fabric_.host().mismatch_across(member, theirs);
  }
  void truncation(int member, std::size_t sent, std::size_t room) {
    fabric_.host().truncation_across(member, sent, room);
  }
  [[nodiscard]] std::byte* scratch(std::size_t bytes) { return scratch_.of(bytes); }

  // A call has succeeded.
  void end_call() { scratch_.tidy(); }
  // Nothing is sent or received any more.
  void abandon();
  // Lets all members know that nobody can go on. Any thread may call this.
  void call_off() { messages_->call_off(); }
  [[nodiscard]] bool is_called_off() { return messages_->is_called_off(); }
  // What was sent since this was asked last.
  [[nodiscard]] Sent sent() { return std::exchange(sent_, {}); }

 private:
  // How often to look before the core is given away. It adapts: half as often after a wait in which
  // the core was given away, as another rank may have needed it; one look more after any other.
  static constexpr std::int64_t most_polls = 256;
  // After so many one looks whether the others are still there.
  static constexpr std::int64_t polls_per_look = 1024;

  Ticket start(bool started) {
    failed_ = failed_ || !started;
    return ++started_;
  }
  [[nodiscard]] bool wait_for(Ticket ticket);

  std::unique_ptr<Messages> messages_;
  NodeFabric& fabric_;
  std::int64_t polls_;
  Ticket started_ = 0, done_ = 0;
  bool failed_ = false;
  Sent sent_;
  Scratch scratch_;
};
static_assert(Wire<MessageWire>);

}  // namespace tutti::fabric
