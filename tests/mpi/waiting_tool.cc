// SPDX-License-Identifier: BSD-3-Clause
// A profiler that wraps what waits and nothing that starts.
#include <mpi.h>

#include <cstdio>

extern "C" int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  return PMPI_Wait(request, status);
}

extern "C" int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  const int code = PMPI_Waitall(count, requests, statuses);
  std::puts("the tool has waited");
  return code;
}
