// SPDX-License-Identifier: BSD-3-Clause
// From MPI_Init to MPI_Finalize, from the first session to the last: when Tutti is made ready, when
// all ranks are there to talk, and when it must have given all back to the MPI. It leaves the MPI
// before the last of all is closed, and begins anew with the next session.
#pragma once

#include <atomic>
#include <mutex>

#include "mpi/arguments.h"
#include "mpi/communicators.h"
#include "mpi/entries.h"
#include "mpi/looks.h"
#include "mpi/reports.h"
#include "mpi/world.h"

namespace tutti::mpi {

template <class H>
class Datatypes;
template <class H>
class Requests;

template <class H>
class Life {
 public:
  // There is one in a process. All rooms that are opened and closed here outlive it.
  Life(const Native<H>& native, World<H>& world, Absentees<H>& absentees, Arguments<H>& arguments,
       Datatypes<H>& datatypes, Communicators<H>& communicators, Requests<H>& requests,
       const Ledger& ledger);

  // Puts in MPI_Init and its like, and what makes and revokes communicators.
  static void add_entries(Entries& entries);

  // Whether Tutti may be used now. Where MPI_Init was not seen (called as PMPI_Init), and in a
  // program of sessions, the first call makes it so.
  [[nodiscard]] bool is_ready() {
    return prepared_.load(std::memory_order_acquire) || make_ready();
  }

 private:
  [[nodiscard]] bool make_ready();
  [[nodiscard]] bool prepare();
  void start();
  void end_world();
  void end_last_session(H session);
  void release();

  // The entries.
  static int init(int* argc, char*** argv);
  static int init_thread(int* argc, char*** argv, int required, int* provided);
  static int finalize();
  static int session_init(Word info, Word handler, void* session);
  static int session_finalize(void* session);
  static int comm_revoke(Word comm);
  static int comm_free(void* comm);
  static int comm_disconnect(void* comm);
  static void making(Word parent);
  static void made(Word parent, const void* comm);

  static inline Life* self_ = nullptr;

  const Native<H>& native_;
  World<H>& world_;
  Absentees<H>& absentees_;
  Arguments<H>& arguments_;
  Datatypes<H>& datatypes_;
  Communicators<H>& communicators_;
  Requests<H>& requests_;
  Looks<H> looks_;
  Reports<H> reports_;
  std::mutex opening_;                 // of a session, and the end of the last one
  std::atomic<bool> prepared_{false};  // written under World::living()
};

}  // namespace tutti::mpi
