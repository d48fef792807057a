// SPDX-License-Identifier: BSD-3-Clause
#include "tutti_bench/stage.h"

#include <algorithm>
#include <limits>
#include <string_view>

namespace tutti::bench {

Stage::Stage(const Mpi& mpi, Page& page, const Arguments& arguments, const Collective& collective,
             std::uint64_t bytes)
    : mpi_(mpi), page_(page), arguments_(arguments), collective_(collective) {
  const mpi::DatatypeRow& type = arguments.type->row();
  const mpi::OpRow& op = arguments.op->row();
  const std::size_t element = reduce::size_of(type.type);
  problem_ = {.type = mpi.handle(type),
              .op = mpi.handle(op),
              .comm = mpi.world,
              .count = static_cast<int>(bytes / element),
              .bytes = bytes,
              .element = element,
              .root = arguments.root,
              .rank = mpi.rank,
              .ranks = mpi.ranks,
              .kernel = reduce::find(op.op, type.type),
              .page = &page,
              .layout = {}};
  uneven_ = problem_;
  memory_ = collective.memory(problem_, mpi.rank);
  if (!representable()) return;
  arrange(mpi, collective.shape, false, problem_);
  arrange(mpi, collective.shape, true, uneven_);
}

Stage::~Stage() {
  release(mpi_, problem_.layout);
  release(mpi_, uneven_.layout);
}

// Displacements are ints, and Alltoallw's are in bytes.
bool Stage::representable() const {
  return collective_.shape == Shape::none ||
         problem_.bytes * static_cast<std::size_t>(problem_.ranks) <=
             static_cast<std::size_t>(std::numeric_limits<int>::max());
}

bool Stage::set(std::string& why) {
  if (!representable()) {
    why = std::string(collective_.name) + " of " + std::to_string(problem_.bytes) +
          " bytes needs displacements beyond an int";
    return false;
  }
  const bool allocated = buffers_.allocate(arguments_, collective_, problem_);
  if (page_.max(!allocated) != 0) {
    why = "there is not enough memory for buffers of " + std::to_string(problem_.bytes) + " bytes";
    return false;
  }
  return true;
}

void Stage::take_slots(int calls) {
  slots_.clear();
  for (int i = 0; i < calls; ++i) slots_.push_back(buffers_.next());
}

void Stage::change_data() {
  ++seed_;
  const std::size_t count = memory_.send / problem_.element;
  for (const Slot& slot : slots_)
    touch(arguments_, slot.send, count, seed_ + static_cast<std::uint64_t>(problem_.rank));
}

Slot Stage::new_data() {
  const Slot slot = buffers_.next();
  fill(arguments_, slot.send, memory_.send / problem_.element,
       ++seed_ * 3 + static_cast<std::uint64_t>(problem_.rank));
  return slot;
}

bool Stage::same(const Problem& problem, const Slot& slot, const std::vector<std::byte>& expected,
                 bool uneven, std::string& why) {
  const bool different =
      collective_.has_result(problem) && std::memcmp(slot.recv, expected.data(), memory_.recv) != 0;
  if (page_.max(different) == 0) return true;
  why = std::string("Tutti and the MPI gave different results for ") + collective_.name + " of " +
        std::to_string(problem_.bytes) + " bytes" + (uneven ? ", with uneven counts" : "");
  return false;
}

bool Stage::may_be_mapped_later() const {
  const std::string_view way = mpi_.last_way();
  return way == "cma" || way == "bounce";
}

int Stage::calls_for(std::int64_t fastest, std::int64_t own) const {
  constexpr std::int64_t most_calls = 4096;
  const bool shared = page_.oversubscribed();
  const std::int64_t short_ns = shared ? 100'000 : 5'000;  // below it calls are timed together
  const std::int64_t sample_ns = shared ? 2 * ms : 100'000;
  const std::int64_t longest_ns = 50 * ms;  // of a sample of the slower library
  if (fastest >= short_ns) return 1;
  std::int64_t count = std::min<std::int64_t>(sample_ns / fastest + 1, most_calls);
  if (arguments_.cache == Cache::cold && problem_.bytes > 0)  // no slot comes twice in a sample
    count = std::min(count, static_cast<std::int64_t>(buffers_.slots() / 4 + 1));
  return static_cast<int>(std::clamp<std::int64_t>(longest_ns / own, 1, count));
}

bool Stage::enough(std::int64_t round, std::int64_t begin) const {
  const std::int64_t spent = page_.from_root(now_ns() - begin);
  if (arguments_.iterations > 0) return round >= arguments_.iterations;
  return (spent >= arguments_.min_time_ms * ms && round >= 11) ||
         (spent >= arguments_.max_time_ms * ms && round >= 3);
}

}  // namespace tutti::bench
