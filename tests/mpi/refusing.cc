// SPDX-License-Identifier: BSD-3-Clause
// An MPI that makes no generalized requests while `refuses_requests` is set: a library in front of
// the real one, which Tutti takes for the MPI as it defines one of the collectives.
#include <dlfcn.h>
#include <mpi.h>

extern "C" {

int refuses_requests = 0;

int PMPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  static const auto next = reinterpret_cast<decltype(&MPI_Bcast)>(dlsym(RTLD_NEXT, "PMPI_Bcast"));
  return next(buffer, count, type, root, comm);
}

int PMPI_Grequest_start(MPI_Grequest_query_function* query, MPI_Grequest_free_function* free,
                        MPI_Grequest_cancel_function* cancel, void* state, MPI_Request* request) {
  static const auto next =
      reinterpret_cast<decltype(&MPI_Grequest_start)>(dlsym(RTLD_NEXT, "PMPI_Grequest_start"));
  return refuses_requests != 0 ? MPI_ERR_NO_MEM : next(query, free, cancel, state, request);
}
}
