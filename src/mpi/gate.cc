// SPDX-License-Identifier: BSD-3-Clause
// PMPI_X for Fortran programs, and both names of what makes communicators or completes requests. A
// Fortran wrapper turns handles, sentinels and array descriptors into C's and then calls a C
// function; Open MPI's call PMPI_X, MPICH's do so where there is no buffer. So Tutti exports PMPI_X
// as well: calls from the MPI's Fortran library go where calls of MPI_X go, all others (the MPI's
// own, a profiler's, a program's) to the MPI.
//
// The `_c` functions have no gate: no Fortran wrapper calls PMPI_X_c, and where the MPI has none,
// programs must not find any.
#include <atomic>
#include <cstdlib>

#include "base/base.h"
#include "mpi/callers.h"
#include "mpi/entries.h"
#include "mpi/library.h"
#include "mpi/words.h"

namespace tutti::mpi {
namespace {

using Function = void (*)();

constinit Callers callers;

// Looked up apart from the entries: calls that are none of Tutti's business do not make those.
[[gnu::cold, gnu::noinline]] Function find_native(std::atomic<Function>& known, const char* name) {
  static const Library library = find_library();
  Function found = nullptr;
  if (library.handle != nullptr) library.load(found, name);
  if (found == nullptr) {
    log::fatal("%s was called, but no MPI library with it is loaded in this process", name);
    std::_Exit(1);
  }
  known.store(found, std::memory_order_relaxed);
  return found;
}

Function native(std::atomic<Function>& known, const char* name) {
  const Function found = known.load(std::memory_order_relaxed);
  return found != nullptr ? found : find_native(known, name);
}

}  // namespace
}  // namespace tutti::mpi

#define TUTTI_EXPORT extern "C" [[gnu::visibility("default")]]

#define TUTTI_CHECK_ARITY(entry, count) static_assert(arity<decltype(Entries::entry)> == count);

#define TUTTI_GATE(name, entry, count)                                            \
  TUTTI_CHECK_ARITY(entry, count)                                                 \
  TUTTI_EXPORT int PMPI_##name(TUTTI_PARAMETERS_##count) {                        \
    constinit static std::atomic<Function> known{nullptr};                        \
    const Function to = callers.fortran(__builtin_return_address(0))              \
                            ? reinterpret_cast<Function>(entries().entry)         \
                            : native(known, "PMPI_" #name);                       \
    return reinterpret_cast<decltype(&PMPI_##name)>(to)(TUTTI_ARGUMENTS_##count); \
  }

// What completes requests is the MPI's own while none of Tutti's is under way. PMPI_X too is for
// anybody but the MPI itself: a tool may have left MPI_Ix to Tutti, and then wait by PMPI_Wait.
#define TUTTI_REQUEST_GATE(name, entry, count)                                               \
  TUTTI_CHECK_ARITY(entry, count)                                                            \
  static int complete_##name(bool ours, TUTTI_PARAMETERS_##count) {                          \
    constinit static std::atomic<Function> known{nullptr};                                   \
    const Function to =                                                                      \
        ours ? reinterpret_cast<Function>(entries().entry) : native(known, "PMPI_" #name);   \
    return reinterpret_cast<int (*)(TUTTI_PARAMETERS_##count)>(to)(TUTTI_ARGUMENTS_##count); \
  }                                                                                          \
  TUTTI_EXPORT int MPI_##name(TUTTI_PARAMETERS_##count) {                                    \
    return complete_##name(requests_under_way() != 0, TUTTI_ARGUMENTS_##count);              \
  }                                                                                          \
  TUTTI_EXPORT int PMPI_##name(TUTTI_PARAMETERS_##count) {                                   \
    const bool ours =                                                                        \
        requests_under_way() != 0 && callers.of(__builtin_return_address(0)) != Caller::mpi; \
    return complete_##name(ours, TUTTI_ARGUMENTS_##count);                                   \
  }

// What not every MPI has is Tutti's throughout.
#define TUTTI_STATUS_GATE(name, entry, count)                 \
  TUTTI_CHECK_ARITY(entry, count)                             \
  TUTTI_EXPORT int MPI_##name(TUTTI_PARAMETERS_##count) {     \
    return pass(TUTTI_ENTRY(entry), TUTTI_ARGUMENTS_##count); \
  }                                                           \
  TUTTI_EXPORT int PMPI_##name(TUTTI_PARAMETERS_##count) {    \
    return pass(TUTTI_ENTRY(entry), TUTTI_ARGUMENTS_##count); \
  }

// Whoever begins and ends MPI, or opens and closes sessions, but the MPI itself: a tool that wraps
// MPI_Init calls this, and the communicators are anybody's. And whoever frees memory: it may be
// Tutti's.
#define TUTTI_LIFE_GATE(name, entry, count)                                       \
  TUTTI_CHECK_ARITY(entry, count)                                                 \
  TUTTI_EXPORT int PMPI_##name(TUTTI_PARAMETERS_##count) {                        \
    constinit static std::atomic<Function> known{nullptr};                        \
    const Caller caller = callers.of(__builtin_return_address(0));                \
    const Function to = caller == Caller::other || caller == Caller::fortran      \
                            ? reinterpret_cast<Function>(entries().entry)         \
                            : native(known, "PMPI_" #name);                       \
    return reinterpret_cast<decltype(&PMPI_##name)>(to)(TUTTI_ARGUMENTS_##count); \
  }

// A collective, blocking and not: `more` is one more than `count`.
#define TUTTI_GATES(name, Name, count, more) \
  TUTTI_GATE(Name, name, count)              \
  TUTTI_GATE(I##name, started.name, more)

// What makes a communicator: its members then meet. The last argument points to it. `made` is
// called for MPI_X, and for PMPI_X from Fortran.
#define TUTTI_MAKER(name, count, last)                                                         \
  static int make_##name(bool ours, TUTTI_PARAMETERS_##count) {                                \
    constinit static std::atomic<Function> known{nullptr};                                     \
    const Function to = native(known, "PMPI_" #name);                                          \
    const int result =                                                                         \
        reinterpret_cast<int (*)(TUTTI_PARAMETERS_##count)>(to)(TUTTI_ARGUMENTS_##count);      \
    if (ours && result == 0) entries().made(reinterpret_cast<const void*>(last));              \
    return result;                                                                             \
  }                                                                                            \
  TUTTI_EXPORT int MPI_##name(TUTTI_PARAMETERS_##count) {                                      \
    return make_##name(true, TUTTI_ARGUMENTS_##count);                                         \
  }                                                                                            \
  TUTTI_EXPORT int PMPI_##name(TUTTI_PARAMETERS_##count) {                                     \
    return make_##name(callers.fortran(__builtin_return_address(0)), TUTTI_ARGUMENTS_##count); \
  }

using namespace tutti::mpi;

TUTTI_LIFE_GATE(Init, init, 2)
TUTTI_LIFE_GATE(Init_thread, init_thread, 4)
TUTTI_LIFE_GATE(Finalize, finalize, 0)
TUTTI_LIFE_GATE(Session_init, session_init, 3)
TUTTI_LIFE_GATE(Session_finalize, session_finalize, 1)
TUTTI_GATE(Alloc_mem, alloc_mem, 3)
TUTTI_LIFE_GATE(Free_mem, free_mem, 1)
TUTTI_GATE(Barrier, barrier, 1)
TUTTI_GATE(Win_test, win_test, 2)
TUTTI_GATE(Ibarrier, ibarrier, 2)
TUTTI_GATES(bcast, Bcast, 5, 6)
TUTTI_GATES(reduce, Reduce, 7, 8)
TUTTI_GATES(allreduce, Allreduce, 6, 7)
TUTTI_GATES(gather, Gather, 8, 9)
TUTTI_GATES(gatherv, Gatherv, 9, 10)
TUTTI_GATES(scatter, Scatter, 8, 9)
TUTTI_GATES(scatterv, Scatterv, 9, 10)
TUTTI_GATES(allgather, Allgather, 7, 8)
TUTTI_GATES(allgatherv, Allgatherv, 8, 9)
TUTTI_GATES(alltoall, Alltoall, 7, 8)
TUTTI_GATES(alltoallv, Alltoallv, 9, 10)
TUTTI_GATES(alltoallw, Alltoallw, 9, 10)
TUTTI_GATES(reduce_scatter, Reduce_scatter, 6, 7)
TUTTI_GATES(reduce_scatter_block, Reduce_scatter_block, 6, 7)
TUTTI_GATES(scan, Scan, 6, 7)
TUTTI_GATES(exscan, Exscan, 6, 7)
TUTTI_REQUEST_GATE(Wait, wait, 2)
TUTTI_REQUEST_GATE(Test, test, 3)
TUTTI_REQUEST_GATE(Waitall, waitall, 3)
TUTTI_REQUEST_GATE(Testall, testall, 4)
TUTTI_REQUEST_GATE(Waitany, waitany, 4)
TUTTI_REQUEST_GATE(Testany, testany, 5)
TUTTI_REQUEST_GATE(Waitsome, waitsome, 5)
TUTTI_REQUEST_GATE(Testsome, testsome, 5)
TUTTI_REQUEST_GATE(Request_get_status, request_get_status, 3)
TUTTI_STATUS_GATE(Request_get_status_all, request_get_status_all, 4)
TUTTI_STATUS_GATE(Request_get_status_any, request_get_status_any, 5)
TUTTI_STATUS_GATE(Request_get_status_some, request_get_status_some, 5)

TUTTI_MAKER(Comm_dup, 2, b)
TUTTI_MAKER(Comm_dup_with_info, 3, c)
TUTTI_MAKER(Comm_split, 4, d)
TUTTI_MAKER(Comm_split_type, 5, e)
TUTTI_MAKER(Comm_create, 3, c)
TUTTI_MAKER(Comm_create_group, 4, d)
TUTTI_MAKER(Comm_create_from_group, 5, e)
TUTTI_MAKER(Cart_create, 6, f)
TUTTI_MAKER(Cart_sub, 3, c)
TUTTI_MAKER(Graph_create, 6, f)
TUTTI_MAKER(Dist_graph_create, 9, i)
TUTTI_MAKER(Dist_graph_create_adjacent, 10, j)
TUTTI_MAKER(Intercomm_merge, 3, c)
