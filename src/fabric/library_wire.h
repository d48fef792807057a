// SPDX-License-Identifier: BSD-3-Clause
// What the wires over messages of a library share: what is told of the call, memory for what
// passes, and the end. `Provider` is that of this rank's node.
#pragma once

#include <memory>
#include <utility>

#include "fabric/messages.h"
#include "fabric/scratch.h"
#include "fabric/wire.h"

namespace tutti::fabric {

template <class Provider>
class LibraryWire {
 public:
  void mismatch(int member, std::uint64_t theirs, std::uint64_t mine) {
    provider_.mismatch_across(member, theirs, mine);
  }
  void truncation(int member, std::size_t sent, std::size_t room) {
    provider_.truncation_across(member, sent, room);
  }
  // As Messages::enter().
  void enter(Collective collective, int root, int op, std::uint64_t call) {
    messages_->enter(collective, root, op, call);
  }
  [[nodiscard]] std::byte* scratch(std::size_t bytes) { return scratch_.of(bytes); }

  // A call has succeeded.
  void end_call() { scratch_.tidy(); }
  // Nothing is sent or received any more.
  void abandon() {
    messages_->abandon();
    // A message that has begun may still be on its way from it or to it.
    scratch_.abandon();
  }
  // Lets all members know that nobody can go on. Any thread may call this that may call the
  // library.
  void call_off() { messages_->call_off(); }
  [[nodiscard]] bool is_called_off() { return messages_->is_called_off(); }
  // As in Messages.
  [[nodiscard]] std::optional<Messages::Stray> find_stray() { return messages_->find_stray(); }
  // What was sent since this was asked last.
  [[nodiscard]] Sent sent() { return std::exchange(sent_, {}); }

 protected:
  // `provider` outlives the wire.
  LibraryWire(std::shared_ptr<Messages> messages, Provider& provider)
      : messages_(std::move(messages)), provider_(provider) {}

  std::shared_ptr<Messages> messages_;
  Provider& provider_;
  Sent sent_;
  Scratch scratch_;
};

}  // namespace tutti::fabric
