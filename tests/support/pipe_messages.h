// SPDX-License-Identifier: BSD-3-Clause
// Messages between forked processes, by pipes of their own.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <deque>
#include <memory>
#include <new>

#include "base/bits.h"

#include "fabric/messages.h"
#include "support/fork_ranks.h"

namespace tutti::test {

// Pipes, and what their ends share.
struct Wires {
  explicit Wires(int ranks) : pipes(ranks), background_pipes(ranks) {
    void* memory =
        ::mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    called_off = new (memory) std::atomic<bool>[2] {};
  }
  ~Wires() { ::munmap(called_off, page_bytes); }
  Wires(const Wires&) = delete;
  Wires& operator=(const Wires&) = delete;

  void become(int rank) {
    pipes.become(rank);
    background_pipes.become(rank);
  }

  Pipes pipes, background_pipes;
  std::atomic<bool>* called_off;  // blocking collectives, and nonblocking ones
};

class PipeMessages : public fabric::Messages {
 public:
  // `wires` were made before the ranks, and have become this rank's.
  PipeMessages(Wires& wires, int ranks, int rank, bool blocking)
      : called_off_(wires.called_off[blocking ? 0 : 1]) {
    Pipes& pipes = blocking ? wires.pipes : wires.background_pipes;
    for (int peer = 0; peer < ranks; ++peer) {
      out_.push_back({pipes.written(rank, peer), {}});
      in_.push_back({pipes.read(peer, rank), {}});
      RANK_CHECK(::fcntl(out_.back().fd, F_SETFL, O_NONBLOCK) == 0);
      RANK_CHECK(::fcntl(in_.back().fd, F_SETFL, O_NONBLOCK) == 0);
    }
  }

  void enter(Collective collective, int root, int op, std::uint64_t call) override {
    if (!is_rooted(collective)) root = 0;
    const auto what = static_cast<std::uint64_t>(root) << 16 | static_cast<std::uint64_t>(op) << 8 |
                      static_cast<std::uint64_t>(collective);
    entered_ = tutti::mix(tutti::mix(entered_, call), what);
  }
  // Of all calls so far, in their order; the same on all members.
  [[nodiscard]] std::uint64_t entered() const { return entered_; }
  void call_off() override { called_off_ = true; }
  bool is_called_off() override { return called_off_; }
  bool send(int member, const void* from, std::size_t bytes, fabric::Whole) override {
    return start(out_[static_cast<std::size_t>(member)], const_cast<void*>(from), bytes, bytes);
  }
  bool receive(int member, void* to, std::size_t bytes, fabric::Whole) override {
    return start(in_[static_cast<std::size_t>(member)], to, bytes, 0);
  }
  State test_oldest() override {
    for (Side& side : out_)
      move(side,
           [](int fd, std::byte* data, std::size_t bytes) { return ::write(fd, data, bytes); });
    for (Side& side : in_)
      move(side,
           [](int fd, std::byte* data, std::size_t bytes) { return ::read(fd, data, bytes); });
    const Message& oldest = *all_.front();
    if (oldest.head_left + oldest.left > 0) return oldest.broken ? State::failed : State::pending;
    const bool right = oldest.head == oldest.bytes;
    all_.pop_front();
    return right ? State::done : State::failed;
  }
  void abandon() override {
    all_.clear();
    for (auto* sides : {&out_, &in_})
      for (Side& side : *sides) side.queue.clear();
  }

 private:
  // Its length, and then its bytes.
  struct Message {
    std::byte* data;
    std::size_t bytes, head, head_left = sizeof(std::size_t), left;
    bool broken = false;
  };
  struct Side {
    int fd;
    std::deque<std::shared_ptr<Message>> queue;
  };

  bool start(Side& side, void* data, std::size_t bytes, std::size_t head) {
    side.queue.push_back(std::make_shared<Message>(Message{
        .data = static_cast<std::byte*>(data), .bytes = bytes, .head = head, .left = bytes}));
    all_.push_back(side.queue.back());
    return true;
  }
  template <class Pass>
  static void move(Side& side, Pass pass) {
    while (!side.queue.empty()) {
      Message& first = *side.queue.front();
      if (!step(side.fd, reinterpret_cast<std::byte*>(&first.head) + sizeof first.head,
                first.head_left, first.broken, pass))
        return;
      if (first.head != first.bytes) first.left = 0;  // said to have failed
      if (!step(side.fd, first.data + first.bytes, first.left, first.broken, pass)) return;
      side.queue.pop_front();
    }
  }
  // Moves the last `left` bytes before `end`. False: not all of them.
  template <class Pass>
  static bool step(int fd, std::byte* end, std::size_t& left, bool& broken, Pass pass) {
    while (left > 0) {
      const ssize_t n = pass(fd, end - left, left);
      broken = n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
      if (n <= 0) return false;
      left -= static_cast<std::size_t>(n);
    }
    return true;
  }

  std::atomic<bool>& called_off_;
  std::uint64_t entered_ = 0;
  std::vector<Side> out_, in_;  // by member
  std::deque<std::shared_ptr<Message>> all_;
};

}  // namespace tutti::test
