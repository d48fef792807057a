// SPDX-License-Identifier: BSD-3-Clause
// PMPI_X for Fortran programs. A Fortran wrapper turns handles, sentinels and array descriptors
// into C's and then calls a C function; Open MPI's call PMPI_X, MPICH's do so where there is no
// buffer. So Tutti exports PMPI_X as well: calls from the MPI's Fortran library go where calls of
// MPI_X go, all others (the MPI's own, a profiler's, a program's) to the MPI.
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

#define TUTTI_GATE(name, entry, count)                                                  \
  extern "C" [[gnu::visibility("default")]] int PMPI_##name(TUTTI_PARAMETERS_##count) { \
    static_assert(arity(&Entries::entry) == count);                                     \
    constinit static std::atomic<Function> known{nullptr};                              \
    const Function to = callers.fortran(__builtin_return_address(0))                    \
                            ? reinterpret_cast<Function>(entries().entry)               \
                            : native(known, "PMPI_" #name);                             \
    return reinterpret_cast<decltype(&PMPI_##name)>(to)(TUTTI_ARGUMENTS_##count);       \
  }

using namespace tutti::mpi;

TUTTI_GATE(Init, init, 2)
TUTTI_GATE(Init_thread, init_thread, 4)
TUTTI_GATE(Finalize, finalize, 0)
TUTTI_GATE(Alloc_mem, alloc_mem, 3)
TUTTI_GATE(Free_mem, free_mem, 1)
TUTTI_GATE(Barrier, barrier, 1)
TUTTI_GATE(Win_test, win_test, 2)
TUTTI_GATE(Bcast, bcast, 5)
TUTTI_GATE(Reduce, reduce, 7)
TUTTI_GATE(Allreduce, allreduce, 6)
TUTTI_GATE(Gather, gather, 8)
TUTTI_GATE(Gatherv, gatherv, 9)
TUTTI_GATE(Scatter, scatter, 8)
TUTTI_GATE(Scatterv, scatterv, 9)
TUTTI_GATE(Allgather, allgather, 7)
TUTTI_GATE(Allgatherv, allgatherv, 8)
TUTTI_GATE(Alltoall, alltoall, 7)
TUTTI_GATE(Alltoallv, alltoallv, 9)
TUTTI_GATE(Alltoallw, alltoallw, 9)
TUTTI_GATE(Reduce_scatter, reduce_scatter, 6)
TUTTI_GATE(Reduce_scatter_block, reduce_scatter_block, 6)
TUTTI_GATE(Scan, scan, 6)
TUTTI_GATE(Exscan, exscan, 6)
