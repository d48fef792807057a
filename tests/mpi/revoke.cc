// SPDX-License-Identifier: BSD-3-Clause
// A communicator that all its ranks revoke (ULFM; without fault tolerance, which the launcher must
// have switched on, Open MPI does not tell the others): the last one while the others are in a
// collective, if they come first. All are told so by the MPI, and other communicators go on.
#include <mpi.h>
// Behind it:
#include <mpi-ext.h>
#include <unistd.h>

#include <cstdio>

namespace {

int g_wrong = 0;

void expect(int line, int code, int wanted) {
  int error = code;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &error);
  if (error == wanted) return;
  ++g_wrong;
  std::printf("line %d: error class %d instead of %d\n", line, error, wanted);
}

// MPI_COMM_WORLD itself: what is done on others is no error of it.
int g_calls = 0;
void count(MPI_Comm*, int*, ...) { ++g_calls; }
int revoke_world() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(count, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Barrier(comm);
  expect(__LINE__, MPIX_Comm_revoke(MPI_COMM_WORLD), MPI_SUCCESS);
  if (rank == 1) usleep(300'000);
  int sum = 0;
  expect(__LINE__, MPI_Barrier(comm), MPI_SUCCESS);
  expect(__LINE__, MPI_Allreduce(&g_wrong, &sum, 1, MPI_INT, MPI_SUM, comm), MPI_SUCCESS);
  MPI_Finalize();
  if (rank == 0) std::printf("revoke: %d wrong\n", sum + g_calls);
  return 0;
}

int wait_for(MPI_Request& request) { return MPI_Wait(&request, MPI_STATUS_IGNORE); }

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc > 1) return revoke_world();
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  int value = rank, sum = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  expect(__LINE__, MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm), MPI_SUCCESS);
  expect(__LINE__, MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm, &request), MPI_SUCCESS);
  expect(__LINE__, wait_for(request), MPI_SUCCESS);

  // One that is under way: rank 0 calls nothing until all have revoked.
  if (rank != 0)
    expect(__LINE__, MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm, &request),
           MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  expect(__LINE__, MPIX_Comm_revoke(comm), MPI_SUCCESS);
  if (rank != 0) expect(__LINE__, wait_for(request), MPIX_ERR_REVOKED);
  expect(__LINE__, MPI_Barrier(comm), MPIX_ERR_REVOKED);
  expect(__LINE__, MPI_Bcast(&value, 1, MPI_INT, 0, comm), MPIX_ERR_REVOKED);
  expect(__LINE__, MPI_Bcast(&value, 0, MPI_INT, 0, comm), MPIX_ERR_REVOKED);
  expect(__LINE__, MPI_Allreduce(&value, &sum, 0, MPI_INT, MPI_SUM, comm), MPIX_ERR_REVOKED);
  MPI_Comm_free(&comm);
  expect(__LINE__, MPI_Allreduce(&g_wrong, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_SUCCESS);
  if (rank == 0) std::printf("revoke: %d wrong\n", sum);
  MPI_Finalize();
  return 0;
}
