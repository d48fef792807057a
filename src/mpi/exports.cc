// SPDX-License-Identifier: BSD-3-Clause
// The MPI functions that Tutti takes the place of, one line each. They are called with the ABI of
// whichever family the caller was compiled for; see entries.h for why one signature serves all.
#include "base/base.h"
#include "engine/engine.h"
#include "mpi/callers.h"
#include "mpi/words.h"

using tutti::mpi::Aint;
using tutti::mpi::entries;
using tutti::mpi::Entries;
using tutti::mpi::pass;
using tutti::mpi::Word;

#define TUTTI_EXPORT extern "C" [[gnu::visibility("default")]]

// Tools that come after this library begin and end with the program, too: they call PMPI_X, and so
// Tutti (gate.cc).
TUTTI_EXPORT int MPI_Init(int* argc, char*** argv) {
  const auto tool = tutti::mpi::tools<int(int*, char***)>("MPI_Init");
  return tool != nullptr ? tool(argc, argv) : entries().init(argc, argv);
}
TUTTI_EXPORT int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const auto tool = tutti::mpi::tools<int(int*, char***, int, int*)>("MPI_Init_thread");
  return tool != nullptr ? tool(argc, argv, required, provided)
                         : entries().init_thread(argc, argv, required, provided);
}
TUTTI_EXPORT int MPI_Finalize() {
  const auto tool = tutti::mpi::tools<int()>("MPI_Finalize");
  return tool != nullptr ? tool() : entries().finalize();
}
TUTTI_EXPORT int MPI_Session_init(Word info, Word handler, void* session) {
  return entries().session_init(info, handler, session);
}
TUTTI_EXPORT int MPI_Session_finalize(void* session) { return entries().session_finalize(session); }
TUTTI_EXPORT int MPI_Alloc_mem(Aint bytes, Word info, void* base) {
  return entries().alloc_mem(bytes, info, base);
}
TUTTI_EXPORT int MPI_Free_mem(void* base) { return entries().free_mem(base); }
TUTTI_EXPORT int MPI_Barrier(Word comm) { return entries().barrier(comm); }
TUTTI_EXPORT int MPI_Ibarrier(Word comm, void* request) {
  return entries().ibarrier(comm, request);
}
TUTTI_EXPORT int MPIX_Comm_revoke(Word comm) { return entries().comm_revoke(comm); }
TUTTI_EXPORT int MPI_Win_test(Word window, int* flag) { return entries().win_test(window, flag); }

// Those with counts come in two forms, each blocking and not: `more` is one more than
// `count`.
#define TUTTI_COLLECTIVE(name, Name, count, more)                         \
  TUTTI_EXPORT int MPI_##Name(TUTTI_PARAMETERS_##count) {                 \
    return pass(TUTTI_ENTRY(name), TUTTI_ARGUMENTS_##count);              \
  }                                                                       \
  TUTTI_EXPORT int MPI_##Name##_c(TUTTI_PARAMETERS_##count) {             \
    return pass(TUTTI_ENTRY(large.name), TUTTI_ARGUMENTS_##count);        \
  }                                                                       \
  TUTTI_EXPORT int MPI_I##name(TUTTI_PARAMETERS_##more) {                 \
    return pass(TUTTI_ENTRY(started.name), TUTTI_ARGUMENTS_##more);       \
  }                                                                       \
  TUTTI_EXPORT int MPI_I##name##_c(TUTTI_PARAMETERS_##more) {             \
    return pass(TUTTI_ENTRY(large_started.name), TUTTI_ARGUMENTS_##more); \
  }

TUTTI_COLLECTIVE(bcast, Bcast, 5, 6)
TUTTI_COLLECTIVE(reduce, Reduce, 7, 8)
TUTTI_COLLECTIVE(allreduce, Allreduce, 6, 7)
TUTTI_COLLECTIVE(gather, Gather, 8, 9)
TUTTI_COLLECTIVE(gatherv, Gatherv, 9, 10)
TUTTI_COLLECTIVE(scatter, Scatter, 8, 9)
TUTTI_COLLECTIVE(scatterv, Scatterv, 9, 10)
TUTTI_COLLECTIVE(allgather, Allgather, 7, 8)
TUTTI_COLLECTIVE(allgatherv, Allgatherv, 8, 9)
TUTTI_COLLECTIVE(alltoall, Alltoall, 7, 8)
TUTTI_COLLECTIVE(alltoallv, Alltoallv, 9, 10)
TUTTI_COLLECTIVE(alltoallw, Alltoallw, 9, 10)
TUTTI_COLLECTIVE(reduce_scatter, Reduce_scatter, 6, 7)
TUTTI_COLLECTIVE(reduce_scatter_block, Reduce_scatter_block, 6, 7)
TUTTI_COLLECTIVE(scan, Scan, 6, 7)
TUTTI_COLLECTIVE(exscan, Exscan, 6, 7)

// At the latest before main: the program may take its environment away.
[[gnu::constructor]] static void read_options() { (void)tutti::options(); }

// For tools: how the calling thread's last collective moved its bytes, "" when none was taken.
TUTTI_EXPORT const char* tutti_last_way() { return tutti::engine::last_way(); }
TUTTI_EXPORT void tutti_forget_last_way() { tutti::engine::forget_last_way(); }

// Switches the progress thread off (0) and on (1), at any time.
TUTTI_EXPORT void tutti_progress(int on) { tutti::engine::driver().allow_thread(on != 0); }
