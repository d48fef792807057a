// SPDX-License-Identifier: BSD-3-Clause
// Front: sessions. With or without MPI_COMM_WORLD beside them, their communicators get teams as
// any: whose members have no Node in common join one over the communicator. Tutti leaves the MPI
// before the last session does, and begins anew with the next.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/base.h"
#include "mpi/front.h"
#include "mpi/front_roll.h"

namespace tutti::mpi {

template <class H>
int Front<H>::session_init(Word info, Word handler, void* session) {
  Front& self = *self_;
  // A program may look for sessions in the process, and finds Tutti's.
  if (self.native_.session_init == nullptr) return error_classes(self.library_.family).other;
  // One after the other: what is learned of the first is known before any other thread has one, and
  // none begins while the last one ends.
  const std::lock_guard opening(self.opening_);
  int before = 0, after = 0;
  self.native_.initialized(&before);
  const Signing signing;
  const int result = self.native_.session_init(handle(info), handle(handler), session);
  if (result != 0) return result;
  self.native_.initialized(&after);
  if (before == 0 && after != 0 && !self.world_begins_) self.session_initializes_ = true;
  H opened{};
  std::memcpy(&opened, session, sizeof opened);
  const std::lock_guard lock(self.living_);
  self.sessions_.push_back(opened);
  self.has_sessions_ = true;
  return result;
}

template <class H>
int Front<H>::session_finalize(void* session) {
  Front& self = *self_;
  if (self.native_.session_finalize == nullptr) return error_classes(self.library_.family).other;
  H closing{};
  std::memcpy(&closing, session, sizeof closing);
  {
    const std::lock_guard opening(self.opening_);
    bool last = false;
    {
      const std::lock_guard lock(self.living_);
      last = std::erase(self.sessions_, closing) != 0 && self.sessions_.empty();
      self.has_sessions_ = !self.sessions_.empty();
    }
    if (last && self.prepared_ && !self.look_for_world()) self.end_last_session(closing);
  }
  return self.native_.session_finalize(session);
}

template <class H>
void Front<H>::end_last_session(H session) {
  drain();
  driver_.stop();
  if (!world_over_) report_alone(session);  // else MPI_Finalize has written a better one
  release();
}

// Sessions may end in any order, so ranks tell each other nothing: what rank 0 has seen.
template <class H>
void Front<H>::report_alone(H session) {
  H group{};
  int rank = 0, size = 0;
  if (native_.group_from_session_pset(session, "mpi://WORLD", &group) != 0) return;
  native_.group_rank(group, &rank);
  native_.group_size(group, &size);
  native_.group_free(&group);
  if (rank != 0) return;
  warn_about_unknown_options();
  if (*options().trace != '\0') log::warn("no trace: one is written at MPI_Finalize alone");
  const std::shared_ptr<engine::Node> node = home();
  const bool one_node = size == 1 || (node != nullptr && node->size() == size);
  const engine::Account mine = engine::account();
  std::vector<const char*> notes = {"only sessions: bytes are those of rank 0"};
  if (!absentees_.empty()) notes.push_back(absentees_.c_str());
  write_report(size, one_node ? 1 : 0, notes, mine, mine);
}

// Whether MPI_COMM_WORLD may be used now, be it that MPI_Init and MPI_Finalize were not seen.
template <class H>
bool Front<H>::look_for_world() {
  int initialized = 0, finalized = 0;
  if (world_over_ || native_.initialized(&initialized) != 0 || !initialized) return false;
  if (native_.finalized(&finalized) != 0 || finalized)
    has_world_ = false;
  else if (!has_world_ && !session_initializes_)
    enter_world();
  return has_world_;
}

template <class H>
void Front<H>::enter_world() {
  native_.comm_rank(native_.world, &world_rank_);
  has_world_ = true;
}

template <class H>
void Front<H>::leave_world() {
  world_over_ = true;
  has_world_ = false;
}

// The processes that were started together with this one.
template <class H>
bool Front<H>::find_world_group(H* group) {
  if (has_world_) return native_.comm_group(native_.world, group) == 0;
  const std::lock_guard lock(living_);
  return !sessions_.empty() &&
         native_.group_from_session_pset(sessions_.front(), "mpi://WORLD", group) == 0;
}

}  // namespace tutti::mpi
