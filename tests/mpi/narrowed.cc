// SPDX-License-Identifier: BSD-3-Clause
// Nonblocking calls with large counts that are left to an MPI without the large forms: the arrays
// of int that it is given live as long as it may read them, and no longer. Compiled by each MPI's
// own mpicxx.
//
//   narrowed ROUNDS
//
// Two ranks, on an intercommunicator. Prints "narrowed: N rounds, N wrong, N KiB more".
#include <dlfcn.h>
#include <malloc.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>

#include "proc.h"

namespace {

// The newest of MPIs declare it; others have Tutti's alone.
using Ialltoallv = int (*)(const void*, const MPI_Count*, const MPI_Aint*, MPI_Datatype, void*,
                           const MPI_Count*, const MPI_Aint*, MPI_Datatype, MPI_Comm, MPI_Request*);

long resident_kib() {
  malloc_trim(0);
  return proc_kib("/proc/self/status", "VmRSS:");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 1000, warm_up = rounds / 10;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm inter;
  MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 1 - rank, 0, &inter);
  const auto start = reinterpret_cast<Ialltoallv>(dlsym(RTLD_DEFAULT, "MPI_Ialltoallv_c"));
  int wrong = start == nullptr;
  long before = 0;
  // Two at once, each with displacements that no other call has.
  constexpr int at_once = 2;
  static int out[4096], in[at_once][4096];
  for (int i = 0; i < rounds && wrong == 0; ++i) {
    if (i == warm_up) before = resident_kib();
    MPI_Request requests[at_once];
    const MPI_Aint from = i % 4096;
    const MPI_Count one = 1, none = 0;
    out[from] = rank + i;
    for (int k = 0; k < at_once; ++k) {
      // Where nothing is sent, a displacement may be anything.
      const MPI_Aint to = (i / 4096 + k) % 4096, unused = 2 * i + k;
      const bool sends = (rank + k) % 2 == 0;
      in[k][to] = -1;
      wrong += start(out, sends ? &one : &none, sends ? &from : &unused, MPI_INT, in[k],
                     sends ? &none : &one, sends ? &unused : &to, MPI_INT, inter,
                     &requests[k]) != MPI_SUCCESS;
    }
    MPI_Waitall(at_once, requests, MPI_STATUSES_IGNORE);
    for (int k = 0; k < at_once; ++k)
      if ((rank + k) % 2 != 0) wrong += in[k][(i / 4096 + k) % 4096] != 1 - rank + i;
  }
  std::printf("narrowed: %d rounds, %d wrong, %ld KiB more\n", rounds, wrong,
              resident_kib() - before);
  std::fflush(stdout);
  MPI_Comm_free(&inter);
  MPI_Finalize();
  return wrong != 0;
}
