// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/life.h"

#include <cstring>

#include "base/base.h"
#include "engine/engine.h"
#include "mpi/datatypes.h"
#include "mpi/requests.h"
#include "os/affinity.h"
#include "progress/progress.h"

namespace tutti::mpi {
namespace {

// An MPI may bind its process in MPI_Init, and what it then grants is all that the rank's threads
// have.
template <class Init>
int init_and_see_cpus(Init init) {
  const os::CpuMask before = os::usable_cpus();
  const int result = init();
  if (os::usable_cpus() != before) os::note_home_cpus();
  return result;
}

}  // namespace

template <class H>
Life<H>::Life(const Native<H>& native, World<H>& world, Absentees<H>& absentees,
              Arguments<H>& arguments, Datatypes<H>& datatypes, Communicators<H>& communicators,
              Requests<H>& requests, const Ledger& ledger)
    : native_(native),
      world_(world),
      absentees_(absentees),
      arguments_(arguments),
      datatypes_(datatypes),
      communicators_(communicators),
      requests_(requests),
      looks_(native),
      reports_(native, world, absentees, communicators, ledger) {
  self_ = this;
}

template <class H>
void Life<H>::add_entries(Entries& entries) {
  entries.init = init;
  entries.init_thread = init_thread;
  entries.finalize = finalize;
  entries.session_init = session_init;
  entries.session_finalize = session_finalize;
  entries.comm_revoke = comm_revoke;
  entries.comm_free = comm_free;
  entries.comm_disconnect = comm_disconnect;
  entries.making = making;
  entries.made = made;
}

template <class H>
int Life<H>::init(int* argc, char*** argv) {
  const Signing signing;
  self_->world_.begin_world();
  const int result = init_and_see_cpus([&] { return self_->native_.init(argc, argv); });
  if (result == 0) self_->start();
  return result;
}

template <class H>
int Life<H>::init_thread(int* argc, char*** argv, int required, int* provided) {
  const Signing signing;
  self_->world_.begin_world();
  const int result =
      init_and_see_cpus([&] { return self_->native_.init_thread(argc, argv, required, provided); });
  if (result == 0) self_->start();
  return result;
}

// Collective over MPI_COMM_WORLD, like MPI_Init itself.
template <class H>
void Life<H>::start() {
  world_.enter_world();
  absentees_.start();
  if (world_.rank() == 0) warn_about_surroundings();
  if (options().off) return;
  const bool all_are_here = absentees_.call_the_roll();
  if (!prepare()) return;
  arguments_.open();
  if (!all_are_here) return communicators_.give_up_world();
  communicators_.join_world();
  if (*options().trace != '\0') trace::start();
}

template <class H>
int Life<H>::finalize() {
  Life& self = *self_;
  if (self.prepared_ && self.world_.look_for_world()) self.end_world();
  self.world_.leave_world();
  self.release();
  return self.world_.finalize();
}

template <class H>
void Life<H>::end_world() {
  // What sessions have under way may need a peer that is in MPI_Finalize, too.
  const bool last = !world_.has_sessions();
  if (last) {
    requests_.drain();
    engine::driver().stop();
    communicators_.leave_sessions(true);
  }
  // After this allgather nobody waits for anybody, so processes may end in any order. Where
  // MPI_Init was not seen, some may not know of Tutti, and would not come.
  if (absentees_.started()) {
    // The program may have revoked it; what it does in MPI_Finalize has its own handler again.
    H handler{};
    const bool had = native_.comm_get_errhandler(native_.world, &handler) == 0;
    native_.comm_set_errhandler(native_.world, native_.errors_return);
    communicators_.gather_world();
    absentees_.apart() ? reports_.report_absentees() : reports_.report();
    if (had) {
      native_.comm_set_errhandler(native_.world, handler);
      native_.errhandler_free(&handler);
    }
  }
  if (!last) engine::driver().resume();
  communicators_.leave_world();
}

// One after the other: what is learned of the first is known before any other thread has one, and
// none begins while the last one ends.
template <class H>
int Life<H>::session_init(Word info, Word handler, void* session) {
  Life& self = *self_;
  // A program may look for sessions in the process, and finds Tutti's.
  if (self.native_.session_init == nullptr) return error_classes(self.native_.family).other;
  const std::lock_guard opening(self.opening_);
  const Signing signing;
  return self.world_.begin_session(handle_from<H>(info), handle_from<H>(handler), session);
}

template <class H>
int Life<H>::session_finalize(void* session) {
  Life& self = *self_;
  if (self.native_.session_finalize == nullptr) return error_classes(self.native_.family).other;
  H closing{};
  std::memcpy(&closing, session, sizeof closing);
  {
    const std::lock_guard opening(self.opening_);
    const bool last = self.world_.end_session(closing);
    if (last && self.prepared_ && !self.world_.look_for_world())
      self.end_last_session(closing);
    else if (self.prepared_)
      self.communicators_.leave_sessions(false);
  }
  return self.native_.session_finalize(session);
}

template <class H>
void Life<H>::end_last_session(H session) {
  requests_.drain();
  engine::driver().stop();
  communicators_.leave_sessions(true);
  // Else MPI_Finalize has written a better one.
  if (!world_.is_over()) reports_.report_alone(session);
  release();
}

// What needs an initialised MPI; not collective.
template <class H>
bool Life<H>::prepare() {
  const std::lock_guard lock(world_.living());
  if (prepared_) return true;
  if (!communicators_.open() || !looks_.begin()) return false;
  datatypes_.reopen();
  prepared_ = true;
  return true;
}

// The last of what Tutti needs the MPI for is over. It may begin anew with another session.
template <class H>
void Life<H>::release() {
  const std::lock_guard lock(world_.living());
  if (!prepared_ || world_.has_world() || world_.has_sessions()) return;
  prepared_ = false;
  looks_.end();
  arguments_.close();
  datatypes_.close();
  communicators_.close();
}

template <class H>
bool Life<H>::make_ready() {
  if (options().off) return false;
  const bool has_world = world_.look_for_world();
  if ((!has_world && !world_.has_sessions()) || !prepare()) return false;
  if (has_world) arguments_.open();
  if (has_world && *options().trace != '\0') trace::start();
  return true;
}

template <class H>
int Life<H>::comm_revoke(Word comm) {
  Life& self = *self_;
  const H revoked = handle_from<H>(comm);
  if (self.native_.comm_revoke == nullptr) return error_classes(self.native_.family).other;
  const int result = self.native_.comm_revoke(revoked);
  if (result == 0 && self.is_ready() && revoked != self.native_.null_comm)
    self.communicators_.revoke(revoked);
  return result;
}

template <class H>
int Life<H>::comm_free(void* comm) {
  return self_->communicators_.free(self_->native_.comm_free, static_cast<H*>(comm));
}

template <class H>
int Life<H>::comm_disconnect(void* comm) {
  return self_->communicators_.free(self_->native_.comm_disconnect, static_cast<H*>(comm));
}

// The MPI brings no collectives of several nodes forward while it makes a communicator. So all
// members come here first.
template <class H>
void Life<H>::making(Word parent) {
  Life& self = *self_;
  const bool joins =
      parent > Entries::session_word && self.is_ready() && !self.world_.in_finalize();
  if (joins) self.communicators_.making(handle_from<H>(parent));
}

template <class H>
void Life<H>::made(Word parent, const void* comm) {
  Life& self = *self_;
  const H none = self.native_.null_comm;
  H made{}, from = parent > Entries::session_word ? handle_from<H>(parent) : none;
  std::memcpy(&made, comm, sizeof made);
  if (from == none && made == none) return;
  if (self.is_ready() && !self.world_.in_finalize())
    self.communicators_.made(from, made, parent == Entries::session_word);
}

template class Life<int>;
template class Life<void*>;

}  // namespace tutti::mpi
