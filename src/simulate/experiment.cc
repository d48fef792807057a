// SPDX-License-Identifier: BSD-3-Clause
#include "simulate/experiment.h"

#include <algorithm>

#include "coll/nonblocking.h"
#include "coll/plans.h"

namespace tutti::simulate {
namespace {

using coll::Collective;
using lab::TimedFabric;

constexpr int root = 0;

bool moves_blocks(Collective collective) {
  return collective == Collective::gather || collective == Collective::scatter;
}

std::vector<lab::Binding> bindings_of(const progress::CoreLayout& layout,
                                      progress::Placement placement) {
  std::vector<lab::Binding> bindings;
  for (std::size_t rank = 0; rank < layout.application.size(); ++rank)
    bindings.push_back(
        {layout.application[rank], progress::place(placement, layout, static_cast<int>(rank))});
  return bindings;
}

// What rank r sends; sums of them are easy to say.
std::uint64_t sent(int rank, std::size_t i) {
  return static_cast<std::uint64_t>(rank) * 1'000'003 + i;
}
std::uint64_t sum_of(int ranks, std::size_t i) {
  const auto n = static_cast<std::uint64_t>(ranks);
  return n * (n - 1) / 2 * 1'000'003 + n * i;
}

}  // namespace

Chip::Chip(lab::Machine machine, const progress::CoreLayout& layout, progress::Placement placement)
    : ranks_(static_cast<int>(layout.application.size())),
      scale_(machine.scale),
      plans_(coll::make_plans<TimedFabric>(ranks_, choice::usual)),
      timed_(std::make_unique<lab::TimedMachine>(machine, bindings_of(layout, placement))),
      buffers_(layout.application.size()) {}

std::int64_t Chip::run(const Case& what, const lab::Program& program) {
  const std::size_t count = std::max<std::size_t>(1, what.bytes / scale_ / sizeof(std::uint64_t));
  fill(what, count);
  std::vector<coll::Work> works;
  for (int rank = 0; rank < ranks_; ++rank) works.push_back(work_of(what, count, rank));
  const auto body = [&](TimedFabric& f) {
    f.begin(1);
    const coll::Work& work = works[static_cast<std::size_t>(f.rank())];
    if (what.algorithms == Algorithms::paper)
      return coll::nonblocking_rows_of<TimedFabric>(what.collective)[0].run(f, work);
    return coll::row_of<TimedFabric>(plans_, what.collective, work)->run(f, work);
  };
  if (!timed_->run(body, program) || !right(what, count)) return -1;
  return timed_->end_ns();
}

void Chip::fill(const Case& what, std::size_t count) {
  for (int rank = 0; rank < ranks_; ++rank) {
    Buffers& mine = buffers_[static_cast<std::size_t>(rank)];
    const std::size_t whole = count * static_cast<std::size_t>(ranks_);
    const bool is_root = rank == root;
    const bool scatters = what.collective == Collective::scatter;
    mine.send.resize(scatters && is_root ? whole : count);
    mine.recv.assign(what.collective == Collective::gather && is_root ? whole : count, 0);
    auto& filled = what.collective == Collective::bcast ? mine.recv : mine.send;
    if (what.collective != Collective::bcast || is_root)
      for (std::size_t i = 0; i < filled.size(); ++i) filled[i] = sent(rank, i);
    const auto blocks = [&](std::vector<std::uint64_t>& data, std::vector<coll::Block>& to) {
      to.clear();
      for (std::size_t at = 0; at < data.size(); at += count)
        to.push_back({reinterpret_cast<std::byte*>(&data[at]), count * sizeof(std::uint64_t)});
    };
    blocks(mine.send, mine.out);
    blocks(mine.recv, mine.in);
  }
}

coll::Work Chip::work_of(const Case& what, std::size_t count, int rank) {
  Buffers& mine = buffers_[static_cast<std::size_t>(rank)];
  coll::Work work{.count = count,
                  .element_bytes = sizeof(std::uint64_t),
                  .kernel = reduce::find(reduce::Op::sum, reduce::Type::u64),
                  .root = root,
                  .levels = what.levels,
                  .piece_bytes = what.piece_bytes / scale_};
  if (moves_blocks(what.collective)) {
    if (what.collective == Collective::gather || rank == root) work.out = mine.out;
    if (what.collective == Collective::scatter || rank == root) work.in = mine.in;
  } else {
    work.send = mine.send.data();
    work.recv = mine.recv.data();
  }
  return work;
}

bool Chip::right(const Case& what, std::size_t count) const {
  for (int rank = 0; rank < ranks_; ++rank) {
    const std::vector<std::uint64_t>& got = buffers_[static_cast<std::size_t>(rank)].recv;
    const bool only_root =
        what.collective == Collective::reduce || what.collective == Collective::gather;
    if (only_root && rank != root) continue;
    for (std::size_t i = 0; i < got.size(); ++i) {
      std::uint64_t wanted = 0;
      switch (what.collective) {
        case Collective::scan:
          wanted = sum_of(rank + 1, i);
          break;
        case Collective::bcast:
          wanted = sent(root, i);
          break;
        case Collective::gather:
          wanted = sent(static_cast<int>(i / count), i % count);
          break;
        case Collective::scatter:
          wanted = sent(root, static_cast<std::size_t>(rank) * count + i);
          break;
        default:
          wanted = sum_of(ranks_, i);
      }
      if (got[i] != wanted) return false;
    }
  }
  return true;
}

std::vector<choice::Algorithm> table_of(Collective collective, bool late) {
  return coll::algorithms_of<TimedFabric>(collective, late);
}

std::int64_t blocking_on_all_ns(const lab::Machine& machine, const progress::Chip& chip,
                                const Case& what) {
  Chip all(machine, progress::lay_out(chip, 0), progress::Placement::bind);
  return all.run(what, {.blocking = true});
}

Outcome try_case(Chip& chip, const Case& what, std::int64_t computation_ns) {
  Outcome outcome{.computation_ns = computation_ns};
  outcome.blocking_ns = chip.run(what, {.blocking = true});
  outcome.pure_ns = chip.run(what, {});
  outcome.overlapped_ns = chip.run(what, {.compute_ns = computation_ns});
  outcome.right = outcome.blocking_ns >= 0 && outcome.pure_ns >= 0 && outcome.overlapped_ns >= 0;
  return outcome;
}

}  // namespace tutti::simulate
