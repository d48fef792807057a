// SPDX-License-Identifier: BSD-3-Clause
// lab/sim_wire: messages between virtual ranks, under the simulator's schedule. Whether a message
// is sent at once or only when it is received, and when its bytes are read and written within that,
// is drawn for each.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "fabric/wire.h"
#include "lab/sim.h"

namespace tutti::lab {

using fabric::Ticket;

// The messages of all ranks.
class SimMail {
 public:
  explicit SimMail(int ranks) : ranks_(ranks), channels_(static_cast<std::size_t>(ranks * ranks)) {}

  struct Message {
    const std::byte* from;
    std::size_t bytes;
    std::vector<std::byte> copy;  // where it is sent at once
    fabric::Whole whole = fabric::Whole::no;
    bool eager = false, taken = false;
  };
  struct Channel {
    std::deque<std::shared_ptr<Message>> sent;
    std::size_t received = 0;  // receives that were started
  };
  [[nodiscard]] Channel& channel(int from, int to) {
    return channels_[static_cast<std::size_t>(from * ranks_ + to)];
  }

 private:
  int ranks_;
  std::vector<Channel> channels_;
};

class SimWire {
 public:
  SimWire(Simulator& simulator, SimMail& mail, int rank)
      : simulator_(simulator), mail_(mail), rank_(rank) {}

  Ticket send(int member, const void* from, std::size_t bytes,
              fabric::Whole whole = fabric::Whole::no);
  Ticket receive(int member, void* to, std::size_t bytes, fabric::Whole whole = fabric::Whole::no);

  struct Await {
    SimWire& wire;
    Ticket ticket;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> handle) {
      const auto ready = [](void* awaiter) {
        auto* const self = static_cast<Await*>(awaiter);
        return self->wire.are_done(self->ticket);
      };
      wire.simulator_.suspend(wire.rank_, {handle, ready, this});
    }
    void await_resume() const noexcept {}
  };
  [[nodiscard]] Await done(Ticket ticket) { return {*this, ticket}; }

  void mismatch(int member, std::uint64_t theirs, std::uint64_t mine);
  void truncation(int member, std::size_t sent, std::size_t room);

  // A call begins, or all are over. False: the last one asked for scratch twice, or has left
  // messages behind.
  [[nodiscard]] bool begin_call();
  [[nodiscard]] std::byte* scratch(std::size_t bytes);

 private:
  struct Pending {
    Ticket ticket;
    std::shared_ptr<SimMail::Message> sent;  // or
    SimMail::Channel* channel = nullptr;
    std::size_t number = 0;  // on the channel
    std::byte* to = nullptr;
    std::size_t bytes = 0;
    fabric::Whole whole = fabric::Whole::no;
  };
  [[nodiscard]] std::vector<fabric::Bytes>& receiving() {
    return simulator_.receiving_[static_cast<std::size_t>(rank_)];
  }
  // Counts it if some of it is a peer's.
  void check(fabric::Bytes message);
  [[nodiscard]] bool are_done(Ticket ticket);
  [[nodiscard]] bool is_done(Pending& pending);

  Simulator& simulator_;
  SimMail& mail_;
  int rank_;
  Ticket last_ = 0;
  std::vector<Pending> pending_;
  std::vector<std::byte> scratch_;
  int asked_ = 0;  // for scratch
};
static_assert(fabric::Wire<SimWire>);

}  // namespace tutti::lab
