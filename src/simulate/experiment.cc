// SPDX-License-Identifier: BSD-3-Clause
#include "simulate/experiment.h"

#include <algorithm>

#include "coll/nonblocking.h"
#include "coll/plans.h"
#include "simulate/buffers.h"

namespace tutti::simulate {
namespace {

using coll::Collective;
using lab::TimedFabric;

std::vector<lab::Binding> bindings_of(const progress::CoreLayout& layout,
                                      progress::Placement placement) {
  std::vector<lab::Binding> bindings;
  for (std::size_t rank = 0; rank < layout.application.size(); ++rank)
    bindings.push_back(
        {layout.application[rank], progress::place(placement, layout, static_cast<int>(rank))});
  return bindings;
}

}  // namespace

Chip::Chip(lab::Machine machine, const progress::CoreLayout& layout, progress::Placement placement)
    : ranks_(static_cast<int>(layout.application.size())),
      scale_(machine.scale),
      plans_(coll::make_plans<TimedFabric>(ranks_, choice::usual)),
      timed_(std::make_unique<lab::TimedMachine>(machine, bindings_of(layout, placement))) {}

std::int64_t Chip::run(const Case& what, const lab::Program& program) {
  Buffers buffers(what.collective, what.bytes / scale_, static_cast<std::size_t>(ranks_));
  std::vector<coll::Work> works;
  for (int rank = 0; rank < ranks_; ++rank) {
    coll::Work& work = works.emplace_back(buffers.work(static_cast<std::size_t>(rank)));
    work.levels = what.levels;
    work.piece_bytes = what.piece_bytes / scale_;
  }
  const auto body = [&](TimedFabric& f) {
    f.begin(1);
    const coll::Work& work = works[static_cast<std::size_t>(f.rank())];
    if (what.algorithms == Algorithms::paper)
      return coll::nonblocking_rows_of<TimedFabric>(what.collective)[0].run(f, work);
    return coll::row_of<TimedFabric>(plans_, what.collective, work)->run(f, work);
  };
  if (!timed_->run(body, program) || !buffers.are_right()) return -1;
  return timed_->end_ns();
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
