// SPDX-License-Identifier: BSD-3-Clause
// A profiling tool as MPI foresees them, for MPI_Allreduce alone.
#include <mpi.h>
#include <stdio.h>

static int calls = 0;

int MPI_Allreduce(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  ++calls;
  return PMPI_Allreduce(send, recv, count, type, op, comm);
}

__attribute__((destructor)) static void say(void) {
  if (calls > 0) printf("profiler: %d calls\n", calls);
}
