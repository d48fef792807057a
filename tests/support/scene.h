// SPDX-License-Identifier: BSD-3-Clause
// Plays a script on a fabric and checks all that can be seen of it. When a rank's collective
// returns, its result is checked and its buffers are scribbled over at once: a peer that still
// reads them gets a wrong result, and one that still writes them spoils the scribble.
#pragma once

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "coll/late/fold.h"
#include "support/roles.h"

namespace tutti::test {

// Where the buffers of a scene come from.
struct Arena {
  void* (*allocate)(std::size_t bytes) = std::malloc;
  void (*release)(void* memory) = std::free;
};

class Scene {
 public:
  explicit Scene(Script script, Arena arena = {}) : script_(std::move(script)), arena_(arena) {
    const int ranks = script_.ranks;
    std::size_t bytes = 0;
    for (const Op& op : script_.ops) {
      for (int rank = 0; rank < ranks; ++rank) {
        Role role = role_of(op, rank);
        const std::size_t lead =
            kinds[op.kind].alignment * (mix(op.seed + static_cast<unsigned>(rank)) % 8);
        role.send_at = bytes + guard_bytes + lead;
        role.recv_at = bytes + room(role.send_bytes) + guard_bytes + lead;
        bytes += room(role.send_bytes) + room(role.recv_bytes);
        roles_.push_back(std::move(role));
      }
    }
    bytes = std::max(bytes, std::size_t{1});
    memory_ = {static_cast<std::byte*>(arena_.allocate(bytes)), bytes};
    if (memory_.data() == nullptr) std::abort();
    std::fill(memory_.begin(), memory_.end(), untouched);
    for (const Op& op : script_.ops)
      expected_.push_back(only_moves(op.algorithm.collective)
                              ? std::vector<std::vector<std::byte>>()
                              : expected_results(op, script_.ranks));
    entered_ = std::vector<std::atomic<int>>(script_.ops.size());
    operands_ = std::vector<coll::Operands>(roles_.size());
    applied_by_others = 0;
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
      co_await all_rows<F>(op.algorithm.collective)[op.algorithm.row].run(f, work);
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
      leave_alone(i, rank, work);
    }
  }
  void leave_alone(std::size_t index, int rank, const coll::Work& work) {
    entered_[index] = script_.ranks;  // the others are counted in scenes of their own
    leave(index, rank, work);
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
    if (failure_.empty() && applied_by_others != 0)
      failure_ = "another thread than a rank's has applied a late operation";
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

  // One call of one rank: what it is to do, and the checks when it is over.
  coll::Work enter(std::size_t index, int rank) {
    const Op& op = script_.ops[index];
    const Kind& kind = kinds[op.kind];
    entered_[index].fetch_add(1, std::memory_order_relaxed);
    const std::span<std::byte> send = buffer(index, rank, true), recv = buffer(index, rank, false);
    coll::Work work{.send = send.data(),
                    .recv = recv.data(),
                    .count = facts_of(op, script_.ranks).bytes / kind.bytes,
                    .element_bytes = kind.bytes,
                    .kernel = &kind.kernel,
                    .root = op.root,
                    .order = op.order,
                    .stores = mix(op.seed ^ static_cast<unsigned>(rank)) % 2 ? Stores::plain
                                                                             : Stores::streaming,
                    .cico = mix((op.seed + 4) ^ static_cast<unsigned>(rank)) % 4 == 0,
                    .timed = mix((op.seed + 5) ^ static_cast<unsigned>(rank)) % 4 == 0,
                    .parts = role(index, rank).parts,
                    .levels = static_cast<int>(mix(op.seed + 1) % 5),
                    .piece_bytes = mix(op.seed + 2) % 2 == 0 ? 0 : mix(op.seed + 3) % 20'000};
    if (only_moves(op.algorithm.collective)) {
      lay_out(index, rank, work);
      return work;
    }
    t_is_rank = true;
    if (op.algorithm.late) {
      work.operands = &operands_[number(index, rank)];
      work.kernel = &kind.late;
    }
    if (op.algorithm.collective == Collective::bcast) {
      work.send = nullptr;
      if (rank == op.root) fill(kind, operand_seed(op, rank), recv);
      return work;
    }
    const bool scatters = scatters_result(op.algorithm.collective);
    // In a Reduce_scatter each for itself; a late one has a copy.
    const bool own = mix(op.seed + static_cast<unsigned>(rank)) % 4 != 0 && !op.algorithm.late;
    const bool in_place = op.in_place && has_result(op, rank) && (!scatters || own);
    fill(kind, operand_seed(op, rank), in_place ? recv : send);
    if (in_place) work.send = work.recv;
    if (!has_result(op, rank) && op.seed % 2 == 0) work.recv = nullptr;
    return work;
  }

  void leave(std::size_t index, int rank, const coll::Work& work) {
    const Op& op = script_.ops[index];
    const std::span<std::byte> send = buffer(index, rank, true), recv = buffer(index, rank, false);
    if (work.operands != nullptr)
      coll::late::fold(op.algorithm.collective, work, script_.ranks, rank);
    if (op.algorithm.collective == Collective::barrier &&
        entered_[index].load(std::memory_order_relaxed) != script_.ranks)
      fail(index, rank, "left the barrier before all had entered it");
    if (!right(index, rank, work)) fail(index, rank, "a wrong result");
    if (!kept(index, rank, work)) fail(index, rank, "the send buffer was changed");
    std::fill(send.begin(), send.end(), scribble);
    std::fill(recv.begin(), recv.end(), scribble);
  }

 private:
  static constexpr std::size_t guard_bytes = 256;
  static constexpr std::byte untouched{0xa5};
  static constexpr std::byte scribble{0x5c};

  // One rank's part in one collective.
  struct Role {
    std::size_t send_at = 0, recv_at = 0;  // offsets into memory_
    std::size_t send_bytes = 0, recv_bytes = 0;
    std::vector<coll::Block> out, in;  // addresses are offsets in the buffer, until it is played
    std::vector<coll::Slice> parts;
  };

  static std::size_t room(std::size_t bytes) {
    return (bytes + 3 * guard_bytes) & ~std::size_t{63};
  }

  [[nodiscard]] Role role_of(const Op& op, int rank) const {
    Role role;
    if (!only_moves(op.algorithm.collective)) {
      role.send_bytes = role.recv_bytes = op.bytes();
      role.parts = parts_of(op, script_.ranks);
      return role;
    }
    const Blocks blocks(op, script_.ranks);
    const auto copy = [](const Blocks::Side& side, std::vector<coll::Block>& to) {
      for (std::size_t i = 0; i < side.sizes.size(); ++i)
        to.push_back({reinterpret_cast<std::byte*>(side.offsets[i]), side.sizes[i], side.layout});
      return side.bytes;
    };
    role.send_bytes = copy(blocks.out(rank), role.out);
    role.recv_bytes = copy(blocks.in(rank), role.in);
    return role;
  }

  [[nodiscard]] std::size_t number(std::size_t index, int rank) const {
    return index * static_cast<std::size_t>(script_.ranks) + static_cast<std::size_t>(rank);
  }
  Role& role(std::size_t index, int rank) { return roles_[number(index, rank)]; }
  std::span<std::byte> buffer(std::size_t index, int rank, bool is_send) {
    const Role& mine = role(index, rank);
    return {memory_.data() + (is_send ? mine.send_at : mine.recv_at),
            is_send ? mine.send_bytes : mine.recv_bytes};
  }

  // Whether this rank gets a result, of a collective that does more than move data.
  [[nodiscard]] bool has_result(const Op& op, int rank) const {
    const Collective collective = op.algorithm.collective;
    if (collective == Collective::barrier) return false;
    if (collective == Collective::exscan) return rank > 0;
    return collective != Collective::reduce || rank == op.root;
  }

  // The blocks of a collective that only moves data, and what is in those to be sent.
  void lay_out(std::size_t index, int rank, coll::Work& work) {
    const Op& op = script_.ops[index];
    const Blocks blocks(op, script_.ranks);
    Role& mine = role(index, rank);
    const std::span<std::byte> send = buffer(index, rank, true), recv = buffer(index, rank, false);
    for (coll::Block& block : mine.out)
      block.address = send.data() + reinterpret_cast<std::size_t>(block.address);
    for (coll::Block& block : mine.in)
      block.address = recv.data() + reinterpret_cast<std::size_t>(block.address);
    work.out = mine.out;
    work.in = mine.in;
    if (blocks.in_place(rank)) {
      const auto me = static_cast<std::size_t>(rank);
      if (blocks.gathers_to_all()) mine.out = {mine.in[me]};
      work.out = mine.out;
      if (blocks.exchanges()) {
        work.out = work.in;
        work.in_place = true;
      }
      if (blocks.gathers()) {
        work.out = {};
        fill_block(mine.in[me], blocks.data_seed(rank, rank));
      }
      if (blocks.scatters()) work.in = {};
    }
    for (std::size_t i = 0; i < work.out.size(); ++i)
      fill_block(work.out[i], blocks.data_seed(rank, static_cast<int>(i)));
  }
  static void fill_block(const coll::Block& block, std::uint64_t seed) {
    std::vector<std::byte> packed(block.bytes);
    fill(kinds[0], seed, packed);
    coll::unpack(block, 0, packed.data(), packed.size());
  }

  // What the receive buffer must hold, and where.
  [[nodiscard]] bool right(std::size_t index, int rank, const coll::Work& work) {
    const Op& op = script_.ops[index];
    const std::span<std::byte> recv = buffer(index, rank, false);
    std::vector<std::byte> wanted(recv.size(), untouched);
    if (!only_moves(op.algorithm.collective)) {
      if (has_result(op, rank)) {
        if (work.send == work.recv) fill(kinds[op.kind], operand_seed(op, rank), wanted);
        const auto& results = expected_[index];
        const auto& result = results[results.size() == 1 ? 0 : static_cast<std::size_t>(rank)];
        std::copy(result.begin(), result.end(), wanted.begin());
      }
      return same(recv, wanted);
    }
    const Blocks blocks(op, script_.ranks);
    for (std::size_t i = 0; i < work.in.size(); ++i) {
      const int from = blocks.scatters() ? op.root : static_cast<int>(i);
      const std::size_t at = static_cast<std::size_t>(work.in[i].address - recv.data());
      fill_block({wanted.data() + at, work.in[i].bytes, work.in[i].layout},
                 blocks.data_seed(from, rank));
    }
    return same(recv, wanted);
  }

  // Whether what was sent is still what it was.
  [[nodiscard]] bool kept(std::size_t index, int rank, const coll::Work& work) {
    const Op& op = script_.ops[index];
    const std::span<std::byte> send = buffer(index, rank, true);
    std::vector<std::byte> sent(send.size(), untouched);
    if (only_moves(op.algorithm.collective)) {
      const Blocks blocks(op, script_.ranks);
      for (std::size_t i = 0; i < work.out.size(); ++i) {
        const auto at = work.out[i].address - send.data();
        if (at < 0 || at >= static_cast<std::ptrdiff_t>(send.size())) continue;  // in place
        fill_block({sent.data() + at, work.out[i].bytes, work.out[i].layout},
                   blocks.data_seed(rank, static_cast<int>(i)));
      }
    } else if (work.send == send.data()) {
      fill(kinds[op.kind], operand_seed(op, rank), sent);
    }
    return same(send, sent);
  }

  void check_end(std::size_t index, int rank, bool is_send) {
    const std::span<std::byte> data = buffer(index, rank, is_send);
    if (!all(data, scribble)) fail(index, rank, "a buffer was written after its owner had left");
    if (!all({data.data() - guard_bytes, guard_bytes}, untouched) ||
        !all({data.data() + data.size(), guard_bytes}, untouched))
      fail(index, rank, "memory beside a buffer was written");
  }

  // std::equal goes byte by byte here.
  static bool same(std::span<const std::byte> a, std::span<const std::byte> b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
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
  std::vector<Role> roles_;                                    // of every call, by rank
  std::vector<std::vector<std::vector<std::byte>>> expected_;  // the same, or one for all ranks
  Arena arena_;
  std::span<std::byte> memory_;
  std::vector<std::atomic<int>> entered_;  // how many ranks have, by call
  std::vector<coll::Operands> operands_;   // as roles_
  std::mutex mutex_;
  std::string failure_;
};

}  // namespace tutti::test
