// SPDX-License-Identifier: BSD-3-Clause
// The MPI functions that Tutti takes the place of, one line each. They are called with the ABI of
// whichever family the caller was compiled for; see entries.h for why one signature serves all.
#include "engine/engine.h"
#include "mpi/words.h"

using tutti::mpi::Aint;
using tutti::mpi::entries;
using tutti::mpi::Word;

#define TUTTI_EXPORT extern "C" [[gnu::visibility("default")]]

TUTTI_EXPORT int MPI_Init(int* argc, char*** argv) { return entries().init(argc, argv); }
TUTTI_EXPORT int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  return entries().init_thread(argc, argv, required, provided);
}
TUTTI_EXPORT int MPI_Finalize() { return entries().finalize(); }
TUTTI_EXPORT int MPI_Alloc_mem(Aint bytes, Word info, void* base) {
  return entries().alloc_mem(bytes, info, base);
}
TUTTI_EXPORT int MPI_Free_mem(void* base) { return entries().free_mem(base); }
TUTTI_EXPORT int MPI_Barrier(Word comm) { return entries().barrier(comm); }
TUTTI_EXPORT int MPI_Win_test(Word window, int* flag) { return entries().win_test(window, flag); }

// Those with counts come in two forms.
#define TUTTI_COLLECTIVE(name, entry, count)                                 \
  TUTTI_EXPORT int MPI_##name(TUTTI_PARAMETERS_##count) {                    \
    return tutti::mpi::pass(entries().entry, TUTTI_ARGUMENTS_##count);       \
  }                                                                          \
  TUTTI_EXPORT int MPI_##name##_c(TUTTI_PARAMETERS_##count) {                \
    return tutti::mpi::pass(entries().large.entry, TUTTI_ARGUMENTS_##count); \
  }

TUTTI_COLLECTIVE(Bcast, bcast, 5)
TUTTI_COLLECTIVE(Reduce, reduce, 7)
TUTTI_COLLECTIVE(Allreduce, allreduce, 6)
TUTTI_COLLECTIVE(Gather, gather, 8)
TUTTI_COLLECTIVE(Gatherv, gatherv, 9)
TUTTI_COLLECTIVE(Scatter, scatter, 8)
TUTTI_COLLECTIVE(Scatterv, scatterv, 9)
TUTTI_COLLECTIVE(Allgather, allgather, 7)
TUTTI_COLLECTIVE(Allgatherv, allgatherv, 8)
TUTTI_COLLECTIVE(Alltoall, alltoall, 7)
TUTTI_COLLECTIVE(Alltoallv, alltoallv, 9)
TUTTI_COLLECTIVE(Alltoallw, alltoallw, 9)
TUTTI_COLLECTIVE(Reduce_scatter, reduce_scatter, 6)
TUTTI_COLLECTIVE(Reduce_scatter_block, reduce_scatter_block, 6)
TUTTI_COLLECTIVE(Scan, scan, 6)
TUTTI_COLLECTIVE(Exscan, exscan, 6)

// For tools: how the calling thread's last collective moved its bytes, "" when none was taken.
TUTTI_EXPORT const char* tutti_last_way() { return tutti::engine::last_way(); }
TUTTI_EXPORT void tutti_forget_last_way() { tutti::engine::forget_last_way(); }
