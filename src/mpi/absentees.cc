// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/absentees.h"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

#include "base/base.h"
#include "engine/engine.h"
#include "engine/node.h"
#include "job/job.h"
#include "os/clock.h"
#include "os/mapping.h"
#include "progress/progress.h"

namespace tutti::mpi {

Signing::Signing() : signs_(!options().off) {
  os::heed_hooks();  // a network of this process begins
  if (signs_) job::roll().open();
}

Signing::~Signing() {
  if (signs_) job::roll().close();
}

template <class H>
typename Absentees<H>::Known Absentees<H>::look_for_all() {
  const int world_rank = world_.rank();
  int size = 0;
  native_.comm_size(native_.world, &size);
  const Known self = static_cast<Known>(engine::host_id() >> 32) | 1;
  if (size == 1) return self;
  const std::vector<int> near = job::neighbours_of(world_rank, size);
  job::Roll& roll = job::roll();
  const job::Roll::State state = roll.state(world_rank);
  if (state == job::Roll::State::closed) return some_missing;
  Known all = self, theirs = some_missing;
  const bool asks = state == job::Roll::State::kept;
  std::vector<bool> here(near.size(), true);
  if (asks) {
    here = roll.present(near);
    if (roll.may_be_late()) look_for_greetings(near, here);
  }
  const std::size_t first_child = world_rank > 0 ? 1 : 0;
  // Who has greeted has Tutti: what is said after that may take as long as it takes.
  const auto with = [&](std::size_t i, const Known* tell, Known* hear) {
    if (hear != nullptr) *hear = some_missing;  // if it cannot be received
    if (here[i]) talk({&near[i], 1}, tell, hear, nullptr);
    return here[i];
  };
  // Both ends send at once: Open MPI looks for connections that others open every 10 ms only, as
  // long as it has opened none itself.
  std::vector<int> greeted;
  for (std::size_t i = 0; i < near.size(); ++i)
    if (here[i]) greeted.push_back(near[i]);
  std::vector<Known> greetings(greeted.size());
  // Others may have asked for one without Tutti, which takes longer.
  constexpr Doubt asked{15, "was told that it has Tutti"};
  constexpr Doubt cannot_ask{3, "cannot ask the launcher whether it has Tutti"};
  talk(greeted, &self, greetings.data(), asks ? &asked : &cannot_ask);
  for (std::size_t i = first_child; i < near.size(); ++i) {
    (void)with(i, nullptr, &theirs);
    all = both(all, theirs);
  }
  const bool has_parent = first_child == 1 && with(0, &all, &theirs);
  if (world_rank > 0) all = theirs;
  for (std::size_t i = first_child; i < near.size(); ++i) (void)with(i, &all, nullptr);
  if (all == some_missing && !has_parent) {
    std::vector<int> ranks(static_cast<std::size_t>(size));
    std::iota(ranks.begin(), ranks.end(), 0);
    absentees_ = roll.absentees(world_rank, ranks);
  }
  if (!absentees_.empty())
    log::warn("%s, so all ranks leave everything to the MPI; `tutti env` prints what each needs",
              absentees_.c_str());
  return all;
}

// A launcher that answers late is taken for one that says no. But it may have told a neighbour in
// time that this rank is there: that one has greeted, and waits.
template <class H>
void Absentees<H>::look_for_greetings(std::span<const int> near, std::vector<bool>& here) {
  constexpr std::int64_t patience_ns = 500'000'000;
  const auto is_missing = [&] { return std::ranges::find(here, false) != here.end(); };
  for (const std::int64_t began_ns = os::now_ns();
       is_missing() && os::now_ns() - began_ns < patience_ns; std::this_thread::yield()) {
    if (engine::driver().outstanding() != 0) engine::driver().drive();  // as in talk()
    for (std::size_t i = 0; i < near.size(); ++i) {
      int found = 0;
      AnyStatus status;
      if (!here[i] && native_.iprobe(near[i], tag, native_.world, &found, &status) == 0)
        here[i] = found != 0;
    }
  }
}

// Sends `tell` to each of these ranks and receives what each sends; nullptr: does not. Says whom it
// waits for where there is doubt whether they answer. No receive of the program's is there yet.
template <class H>
void Absentees<H>::talk(std::span<const int> ranks, const Known* tell, Known* hear,
                        const Doubt* doubt) {
  constexpr int bytes = sizeof(Known);
  std::vector<H> sends(ranks.size(), native_.null_request), receives(sends);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (hear != nullptr)
      native_.irecv(hear + i, bytes, native_.byte, ranks[i], tag, native_.world, &receives[i]);
    if (tell != nullptr)
      native_.isend(tell, bytes, native_.byte, ranks[i], tag, native_.world, &sends[i]);
  }
  const std::time_t began_s = std::time(nullptr);
  bool said = doubt == nullptr;
  for (bool done = false; !done; std::this_thread::yield()) {
    done = true;
    // Others may come when a session's collective is over that this rank has under way.
    if (engine::driver().outstanding() != 0) engine::driver().drive();
    std::string missing;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const bool sent = is_over(&sends[i]), received = is_over(&receives[i]);
      done = done && sent && received;
      if (!received) missing += (missing.empty() ? "" : ", ") + std::to_string(ranks[i]);
    }
    if (missing.empty() || said || std::time(nullptr) - began_s < doubt->patience_s) continue;
    said = true;
    log::warn(
        "rank %d waits in MPI_Init for rank %s and %s: if it runs without Tutti, it will never "
        "answer; then preload libtutti.so into all ranks (`tutti env` prints how), or set "
        "TUTTI_OFF=1 for all",
        world_.rank(), missing.c_str(), doubt->how);
  }
}

template <class H>
bool Absentees<H>::is_over(H* request) {
  int over = 1;
  AnyStatus status;
  if (*request != native_.null_request && native_.test(request, &over, &status) != 0) over = 1;
  return over != 0;
}

template <class H>
bool Absentees<H>::has_absentees(H comm, int size) {
  if (started_) return false;  // all ranks are here
  const std::vector<int> ranks = world_.world_ranks(comm, size);
  int rank = 0;
  native_.comm_rank(comm, &rank);
  if (ranks.empty()) return false;
  const int world_rank = ranks[static_cast<std::size_t>(rank)];
  job::Roll& roll = job::roll();
  if (!roll.lacks(world_rank, ranks)) return false;
  static std::once_flag said;
  std::call_once(said, [&] {
    absentees_ = roll.absentees(world_rank, ranks);
    if (!absentees_.empty())
      log::warn(
          "%s, so their communicators are left to the MPI; `tutti env` prints what each needs",
          absentees_.c_str());
  });
  return true;
}

template class Absentees<int>;
template class Absentees<void*>;

}  // namespace tutti::mpi
