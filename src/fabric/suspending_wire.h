// SPDX-License-Identifier: BSD-3-Clause
// fabric/suspending_wire: a Wire over messages of a library, for algorithms that a thread drives,
// beside the SuspendingFabric of the same rank. A wait suspends the algorithm. Where only threads
// of the rank may call the library, the others leave to them what is to be sent and received.
#pragma once

#include <coroutine>
#include <deque>

#include "fabric/library_wire.h"
#include "fabric/suspending.h"

namespace tutti::fabric {

class SuspendingWire : public LibraryWire<SuspendingProvider> {
 public:
  // `any_thread`: may call the library.
  SuspendingWire(std::shared_ptr<Messages> messages, SuspendingProvider& provider, bool any_thread)
      : LibraryWire(std::move(messages), provider), any_thread_(any_thread) {}

  // Whether the thread that drives may call the library.
  [[nodiscard]] bool may_talk() const { return may_talk(provider_.driver()); }
  [[nodiscard]] bool may_talk(Executor driver) const {
    return any_thread_ || driver == Executor::rank;
  }

  Ticket send(int member, const void* from, std::size_t bytes, Whole whole = Whole::no) {
    sent_.add(bytes);
    return add({true, member, const_cast<void*>(from), bytes, whole});
  }
  Ticket receive(int member, void* to, std::size_t bytes, Whole whole = Whole::no) {
    return add({false, member, to, bytes, whole});
  }

  struct Await {
    SuspendingWire& wire;
    Ticket ticket;
    bool await_ready() const {
      return !wire.provider_.failed() && !wire.provider_.only_posts() && wire.is_done(ticket);
    }
    void await_suspend(std::coroutine_handle<> handle) {
      const auto ready = [](void* awaiter, Watch&) {
        const Await& self = *static_cast<const Await*>(awaiter);
        return self.wire.is_done(self.ticket) && !self.wire.provider_.failed();
      };
      wire.provider_.suspend({handle, ready, this});
    }
    void await_resume() const noexcept {}
  };
  [[nodiscard]] Await done(Ticket ticket) { return {*this, ticket}; }
  // Whether a message is not done yet.
  [[nodiscard]] bool is_busy() const { return done_ < added_; }
  // Brings messages forward; only where one may talk.
  void talk();
  // As in LibraryWire; only where one may talk.
  void abandon();

 private:
  // What is to be sent, or received.
  struct Order {
    bool sends;
    int member;
    void* memory;
    std::size_t bytes;
    Whole whole;
  };
  Ticket add(const Order& order);
  [[nodiscard]] bool start(const Order& order);
  [[nodiscard]] bool is_done(Ticket ticket) {
    if (done_ < ticket && may_talk()) talk();
    return done_ >= ticket;
  }

  bool any_thread_;
  std::deque<Order> orders_;  // that the library has not got yet
  Ticket added_ = 0, started_ = 0, done_ = 0;
};
static_assert(Wire<SuspendingWire>);

}  // namespace tutti::fabric
