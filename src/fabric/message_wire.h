// SPDX-License-Identifier: BSD-3-Clause
// fabric/message_wire: a Wire over messages of a library, for ranks whose waits block, beside the
// NodeFabric of the same rank. A wait looks at the messages all the time, as only that brings them
// forward, and gives the core away where other ranks need it.
#pragma once

#include "fabric/library_wire.h"
#include "fabric/node.h"

namespace tutti::fabric {

class MessageWire : public LibraryWire<NodeProvider> {
 public:
  // `fabric` is that of this rank's node, and outlives the wire.
  MessageWire(std::shared_ptr<Messages> messages, NodeFabric& fabric)
      : LibraryWire(std::move(messages), fabric.provider()),
        fabric_(fabric),
        polls_(fabric.provider().shares_core() ? 0 : most_polls) {}

  Ticket send(int member, const void* from, std::size_t bytes, Whole whole = Whole::no) {
    sent_.add(bytes);
    return start(messages_->send(member, from, bytes, whole));
  }
  Ticket receive(int member, void* to, std::size_t bytes, Whole whole = Whole::no) {
    return start(messages_->receive(member, to, bytes, whole));
  }

  // As Messages::cut().
  void cut(const Cut& cut) { messages_->cut(cut); }

  struct Await {
    MessageWire& wire;
    Ticket ticket;
    bool await_ready() { return wire.wait_for(ticket); }
    void await_suspend(std::coroutine_handle<>) const noexcept {}  // after an error, for good
    void await_resume() const noexcept {}
  };
  [[nodiscard]] Await done(Ticket ticket) { return {*this, ticket}; }

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

  NodeFabric& fabric_;
  std::int64_t polls_;
  Ticket started_ = 0, done_ = 0;
  bool failed_ = false;
};
static_assert(Wire<MessageWire>);

}  // namespace tutti::fabric
