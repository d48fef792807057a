// SPDX-License-Identifier: BSD-3-Clause
// Plays a script on a fabric and checks all that can be seen of it. When a rank's collective
// returns, its result is checked and its buffers are scribbled over at once: a peer that still
// reads them gets a wrong result, and one that still writes them spoils the scribble.
#pragma once

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "support/script.h"

namespace tutti::test {

// Where the buffers of a scene come from.
struct Arena {
  void* (*allocate)(std::size_t bytes) = std::malloc;
  void (*release)(void* memory) = std::free;
};

class Scene {
 public:
  explicit Scene(Script script, Arena arena = {}) : script_(std::move(script)), arena_(arena) {
    const auto ranks = static_cast<std::size_t>(script_.ranks);
    std::size_t bytes = 0;
    for (const Op& op : script_.ops) {
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        const std::size_t lead = kinds[op.kind].alignment * (mix(op.seed + rank) % 8);
        sides_.push_back({bytes + guard_bytes + lead, bytes + room(op) + guard_bytes + lead});
        bytes += 2 * room(op);
      }
    }
    bytes = std::max(bytes, std::size_t{1});
    memory_ = {static_cast<std::byte*>(arena_.allocate(bytes)), bytes};
    if (memory_.data() == nullptr) std::abort();
    std::fill(memory_.begin(), memory_.end(), untouched);
    for (const Op& op : script_.ops) expected_.push_back(expected(op));
    entered_ = std::vector<std::atomic<int>>(script_.ops.size());
  }

  ~Scene() { arena_.release(memory_.data()); }
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  [[nodiscard]] const Script& script() const { return script_; }

  // To be run on every rank.
  template <fabric::Fabric F>
  fabric::Task play(F& f) {
    for (std::size_t i = 0; i < script_.ops.size(); ++i) {
      const Op& op = script_.ops[i];
      const coll::Work work = enter(i, f.rank());
      f.begin(std::uint64_t{1} << 63 | i);
      co_await rows_of<F>(op.algorithm.collective)[op.algorithm.row].run(f, work);
      leave(i, f.rank(), work);
    }
  }

  // The same for one rank that is a process, with a scene of its own like the others': run(op,
  // work) performs the collective and blocks.
  template <class Run>
  void play_alone(int rank, Run run) {
    for (std::size_t i = 0; i < script_.ops.size(); ++i) {
      const coll::Work work = enter(i, rank);
      run(script_.ops[i], work);
      entered_[i] = script_.ranks;  // the others are counted in scenes of their own
      leave(i, rank, work);
    }
  }
  [[nodiscard]] std::string verdict_of(int rank) {
    for (std::size_t i = 0; failure_.empty() && i < script_.ops.size(); ++i)
      for (bool is_send : {true, false}) check_end(i, rank, is_send);
    return failure_;
  }

  // After all ranks have ended: what is wrong, or "".
  [[nodiscard]] std::string verdict() {
    for (std::size_t i = 0; failure_.empty() && i < script_.ops.size(); ++i)
      for (int rank = 0; rank < script_.ranks; ++rank)
        for (bool is_send : {true, false}) check_end(i, rank, is_send);
    return failure_;
  }

  // For messages: "Reduce row 2 of 40 hash of 12, root 3, in place".
  [[nodiscard]] std::string describe(std::size_t index) const {
    const Op& op = script_.ops[index];
    char text[160];
    std::snprintf(text, sizeof text, "call %zu of %zu: %s row %zu of %zu elements (%s), root %d%s",
                  index + 1, script_.ops.size(), coll::name_of(op.algorithm.collective),
                  op.algorithm.row, op.count, kinds[op.kind].name, op.root,
                  op.in_place ? ", in place" : "");
    return text;
  }

 private:
  static constexpr std::size_t guard_bytes = 256;
  static constexpr std::byte untouched{0xa5};
  static constexpr std::byte scribble{0x5c};

  struct Side {
    std::size_t send, recv;  // offsets into memory_
  };

  static std::size_t room(const Op& op) {
    return (op.bytes() + 3 * guard_bytes) & ~std::size_t{63};
  }

  [[nodiscard]] const Side& side(std::size_t index, int rank) const {
    return sides_[index * static_cast<std::size_t>(script_.ranks) + static_cast<std::size_t>(rank)];
  }
  std::span<std::byte> buffer(std::size_t index, int rank, bool is_send) {
    const Side& where = side(index, rank);
    return {memory_.data() + (is_send ? where.send : where.recv), script_.ops[index].bytes()};
  }
  static std::uint64_t data_seed(const Op& op, int rank) {
    return op.seed + static_cast<std::uint64_t>(rank) * 0x100000001u;
  }

  [[nodiscard]] std::vector<std::byte> expected(const Op& op) const {
    std::vector<std::byte> result(op.bytes());
    if (op.algorithm.collective == Collective::barrier) return result;
    const Kind& kind = kinds[op.kind];
    if (op.algorithm.collective == Collective::bcast) {
      fill(kind, data_seed(op, op.root), result);
      return result;
    }
    std::vector<std::byte> left(op.bytes());
    fill(kind, data_seed(op, script_.ranks - 1), result);
    for (int rank = script_.ranks - 2; rank >= 0; --rank) {
      fill(kind, data_seed(op, rank), left);
      kind.kernel.apply(result.data(), left.data(), result.data(), op.count, Stores::plain);
    }
    return result;
  }

  // Whether this rank gets a result, and in which of its buffers.
  [[nodiscard]] bool has_result(const Op& op, int rank) const {
    return op.algorithm.collective == Collective::bcast ||
           op.algorithm.collective == Collective::allreduce ||
           (op.algorithm.collective == Collective::reduce && rank == op.root);
  }

  coll::Work enter(std::size_t index, int rank) {
    const Op& op = script_.ops[index];
    const Kind& kind = kinds[op.kind];
    entered_[index].fetch_add(1, std::memory_order_relaxed);
    const std::span<std::byte> send = buffer(index, rank, true), recv = buffer(index, rank, false);
    coll::Work work{.send = send.data(),
                    .recv = recv.data(),
                    .count = op.count,
                    .element_bytes = kind.bytes,
                    .kernel = &kind.kernel,
                    .root = op.root,
                    .stores = mix(op.seed ^ static_cast<unsigned>(rank)) % 2 ? Stores::plain
                                                                             : Stores::streaming};
    if (op.algorithm.collective == Collective::bcast) {
      work.send = nullptr;
      if (rank == op.root) fill(kind, data_seed(op, rank), recv);
      return work;
    }
    const bool in_place = op.in_place && has_result(op, rank);
    fill(kind, data_seed(op, rank), in_place ? recv : send);
    if (in_place) work.send = work.recv;
    if (!has_result(op, rank) && op.seed % 2 == 0) work.recv = nullptr;
    return work;
  }

  void leave(std::size_t index, int rank, const coll::Work& work) {
    const Op& op = script_.ops[index];
    const std::span<std::byte> send = buffer(index, rank, true), recv = buffer(index, rank, false);
    if (op.algorithm.collective == Collective::barrier &&
        entered_[index].load(std::memory_order_relaxed) != script_.ranks)
      fail(index, rank, "left the barrier before all had entered it");
    if (has_result(op, rank)) {
      if (!std::equal(recv.begin(), recv.end(), expected_[index].begin()))
        fail(index, rank, "a wrong result");
    } else if (!all(recv, untouched)) {
      fail(index, rank, "a receive buffer that is no business of this rank was written");
    }
    if (work.send == send.data()) {
      std::vector<std::byte> sent(send.size());
      fill(kinds[op.kind], data_seed(op, rank), sent);
      if (!std::equal(send.begin(), send.end(), sent.begin()))
        fail(index, rank, "the send buffer was changed");
    }
    std::fill(send.begin(), send.end(), scribble);
    std::fill(recv.begin(), recv.end(), scribble);
  }

  void check_end(std::size_t index, int rank, bool is_send) {
    const std::span<std::byte> data = buffer(index, rank, is_send);
    if (!all(data, scribble)) fail(index, rank, "a buffer was written after its owner had left");
    if (!all({data.data() - guard_bytes, guard_bytes}, untouched) ||
        !all({data.data() + data.size(), guard_bytes}, untouched))
      fail(index, rank, "memory beside a buffer was written");
  }

  static bool all(std::span<const std::byte> data, std::byte value) {
    return data.empty() ||
           (data[0] == value && std::memcmp(data.data(), data.data() + 1, data.size() - 1) == 0);
  }

  void fail(std::size_t index, int rank, const char* what) {
    const std::lock_guard lock(mutex_);
    if (failure_.empty())
      failure_ = describe(index) + ", rank " + std::to_string(rank) + " of " +
                 std::to_string(script_.ranks) + ": " + what;
  }

  Script script_;
  std::vector<Side> sides_;
  Arena arena_;
  std::span<std::byte> memory_;
  std::vector<std::vector<std::byte>> expected_;
  std::vector<std::atomic<int>> entered_;  // how many ranks have, by call
  std::mutex mutex_;
  std::string failure_;
};

}  // namespace tutti::test
