// SPDX-License-Identifier: BSD-3-Clause
#include "engine/choosing.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include "base/base.h"
#include "engine/team_member.h"

namespace tutti::engine {
namespace {

// This thread's.
struct Learners {
  choice::Distances distances;
  choice::Learner stores{true};             // of blocking collectives
  choice::Learner background_stores{true};  // of nonblocking ones, whose time is another
  // It does not give up early: the first calls that go by the segment also touch its pages for the
  // first time, and say little.
  choice::Learner cico{false};
};
constinit thread_local Learners* t_learners = nullptr;

// Stands apart from the pointer, which destructors that run later still find as this leaves it.
struct Forgetter {
  ~Forgetter() { delete std::exchange(t_learners, nullptr); }
};

[[gnu::noinline]] Learners& new_learners() {
  static thread_local Forgetter forgetter;  // once: what is made after its end stays
  t_learners = new Learners;
  return *t_learners;
}
Learners& learners() {
  if (t_learners == nullptr) [[unlikely]]
    return new_learners();
  return *t_learners;
}

// nullptr: to be learned.
const coll::Stores* wanted_stores() {
  static constexpr coll::Stores plain = coll::Stores::plain;
  static constexpr coll::Stores streaming = coll::Stores::streaming;
  if (std::strcmp(options().stores, "plain") == 0) return &plain;
  return std::strcmp(options().stores, "streaming") == 0 ? &streaming : nullptr;
}

// One buffer that stands for all that this rank touches: one that it writes to, if there is any.
const void* written_by(const coll::Work& work) {
  if (!work.in.empty()) return work.in[0].address;
  if (!work.out.empty()) return work.out[0].address;
  return work.recv != nullptr ? work.recv : work.send;
}

choice::Learner::Choice choose_stores(choice::Learner& learner, Collective collective,
                                      coll::Work& work, std::size_t moved, std::size_t distance) {
  static const coll::Stores* const wanted = wanted_stores();
  if (wanted != nullptr) [[unlikely]] {
    work.stores = *wanted;
    return {};
  }
  work.stores = coll::Stores::plain;
  if (moved < limits::large_bytes) return {};
  const auto choice = learner.choose(collective, moved, distance, false);
  if (choice.second) work.stores = coll::Stores::streaming;
  return choice;
}

// Collectives in which one member's buffer decides for all, and whose buffer that is.
int who_decides(Collective collective, const coll::Work& work) {
  if (collective == Collective::bcast) return work.root;
  return computes(collective) && !is_scan(collective) ? 0 : -1;
}

}  // namespace

// This rank's choice of stores matters only for mapped memory.
void learn(const Choices& choices, std::uint64_t ticks, std::size_t moved, fabric::Route route) {
  if (ticks == 0) return;
  if (route == fabric::Route::mapped)
    learners().stores.learn(choices.stores, ticks, moved);
  else
    learners().cico.learn(choices.cico, ticks, moved);
}

// Too few bytes say nothing.
void learn(const Pending& pending) {
  const bool enough =
      pending.work_ticks != 0 && pending.worked_bytes >= choice::Learner::least_bytes;
  if (enough && pending.route == fabric::Route::mapped)
    learners().background_stores.learn(pending.choices.stores, pending.work_ticks,
                                       pending.worked_bytes);
}

Choices TeamMember::choose(bool blocking, Collective collective, coll::Work& work,
                           std::size_t moved) {
  Choices choices;
  Learners& learned = learners();
  const std::size_t distance = learned.distances.of(written_by(work), moved);
  work.cico = false;
  if (node()->may_cico() && work.operands == nullptr && who_decides(collective, work) == rank() &&
      only_kernel_reaches(work)) {
    const bool small = moved < limits::copied_bytes;
    // Which way is faster shows in the time that all members take, and only blocking calls have it.
    choices.cico = blocking ? learned.cico.choose(collective, moved, distance, small)
                            : learned.cico.choose_known(collective, moved, distance, small);
    work.cico = choices.cico.second;
  } else {
    choices.stores = choose_stores(blocking ? learned.stores : learned.background_stores,
                                   collective, work, moved, distance);
  }
  work.timed = choices.stores.sample != choice::Learner::none ||
               choices.cico.sample != choice::Learner::none;
  return choices;
}

const char* TeamMember::leaves(Collective collective, const coll::Work& work) {
  if (!across_->is_contested()) return nullptr;
  // The result may depend on who computes it, so that must not change from call to call, or from
  // run to run.
  const bool exact = work.operands == nullptr && (work.kernel == nullptr || work.kernel->exact);
  // Whether operations of the user are long, ranks may see differently.
  const bool apart =
      work.op != coll::user_op && work.bytes() >= choice::least_computed_apart(collective);
  if (!exact)
    return across_->map().largest() > 1 || apart
               ? nullptr
               : "the result may depend on who computes it, and no node has two of its ranks";
  if (across_->is_strict()) return nullptr;
  // Some MPIs cannot count so far.
  if (work.bytes() > std::size_t{std::numeric_limits<std::int32_t>::max()}) return nullptr;
  choice::Contest& contest = across_->contest(collective, work.bytes());
  if (contest.is_due()) {
    choice::Contest::Times agreed{};
    const reduce::Op op = contest.counts_least() ? reduce::Op::min : reduce::Op::max;
    const coll::Work question{.send = contest.times().data(),
                              .recv = agreed.data(),
                              .count = agreed.size(),
                              .element_bytes = sizeof agreed[0],
                              .kernel = reduce::find(op, reduce::Type::u64)};
    if (!ask(collective, work, question)) return nullptr;
    (void)across_->sent();  // it is no call of the program
    if (const auto result = contest.decide(agreed); result && rank() == 0)
      log::info("MPI_%s of %zu bytes between nodes: the MPI takes %.1f us, Tutti %.1f",
                tutti::name_of(collective), work.bytes(), result->mpi_ns / 1e3,
                result->tutti_ns / 1e3);
  }
  const bool is_the_mpis = contest.next() == choice::Contest::Side::mpi;
  if (is_the_mpis) asked_ = {};  // no run() follows
  if (contest.is_timed()) choice::Turn::give(contest);
  return is_the_mpis ? "the MPI is faster between these nodes, or was timed" : nullptr;
}

// Whether only the kernel reaches some of my buffers, and the others can be mapped.
bool TeamMember::only_kernel_reaches(const coll::Work& work) const {
  constexpr bool full = false;  // only asked for
  fabric::Transport worst = fabric::best_transport;
  const auto ask = [&](const void* buffer, std::size_t bytes) {
    if (buffer != nullptr) worst = worse_of(worst, provider_.offer(buffer, bytes, full).transport);
  };
  ask(work.send, work.bytes());
  const std::size_t received =
      work.parts.empty() ? work.count : work.parts[static_cast<std::size_t>(rank())].count;
  ask(work.recv, received * work.element_bytes);
  return needs_kernel(worst);
}

}  // namespace tutti::engine
