// SPDX-License-Identifier: BSD-3-Clause
// The MPI functions that Tutti takes the place of, one line each. They are called with the ABI of
// whichever family the caller was compiled for; see entries.h for why one signature serves all.
#include "engine/engine.h"
#include "mpi/entries.h"

using tutti::mpi::Aint;
using tutti::mpi::Count;
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
TUTTI_EXPORT int MPI_Bcast(void* buffer, int count, Word type, int root, Word comm) {
  return entries().bcast(buffer, count, type, root, comm);
}
TUTTI_EXPORT int MPI_Bcast_c(void* buffer, Count count, Word type, int root, Word comm) {
  return entries().bcast_c(buffer, count, type, root, comm);
}
TUTTI_EXPORT int MPI_Reduce(const void* send, void* recv, int count, Word type, Word op, int root,
                            Word comm) {
  return entries().reduce(send, recv, count, type, op, root, comm);
}
TUTTI_EXPORT int MPI_Reduce_c(const void* send, void* recv, Count count, Word type, Word op,
                              int root, Word comm) {
  return entries().reduce_c(send, recv, count, type, op, root, comm);
}
TUTTI_EXPORT int MPI_Allreduce(const void* send, void* recv, int count, Word type, Word op,
                               Word comm) {
  return entries().allreduce(send, recv, count, type, op, comm);
}
TUTTI_EXPORT int MPI_Allreduce_c(const void* send, void* recv, Count count, Word type, Word op,
                                 Word comm) {
  return entries().allreduce_c(send, recv, count, type, op, comm);
}

// For tools: how the calling thread's last collective moved its bytes, "" when none was taken.
TUTTI_EXPORT const char* tutti_last_way() { return tutti::engine::last_way(); }
