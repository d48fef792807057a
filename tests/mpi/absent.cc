// SPDX-License-Identifier: BSD-3-Clause
// What a job does of which some ranks may have no Tutti: absent [LEVEL], or absent session.
// Prints "absent: N wrong".
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "session.h"

namespace {

int collectives(MPI_Comm comm) {
  int rank = 0, size = 0, wrong = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  int told = rank + 5;
  MPI_Bcast(&told, 1, MPI_INT, size - 1, comm);
  wrong += told != size + 4;
  std::vector<double> in(30000, rank), out(in.size());
  MPI_Allreduce(in.data(), out.data(), static_cast<int>(in.size()), MPI_DOUBLE, MPI_SUM, comm);
  for (const double sum : out) wrong += sum != size * (size - 1) / 2;
  std::vector<int> all(size);
  MPI_Request request;
  MPI_Iallgather(&rank, 1, MPI_INT, all.data(), 1, MPI_INT, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < size; ++i) wrong += all[i] != i;
  return wrong;
}

#if HAS_SESSIONS
// Without MPI_Init.
int session() {
  MPI_Session session;
  MPI_Comm comm = begin_session(&session, "absent"), again;
  int wrong = 0, rank = 0;
  wrong += collectives(comm);
  MPI_Comm_dup(comm, &again);
  wrong += collectives(again);
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, comm);
  MPI_Comm_rank(comm, &rank);
  if (rank == 0) std::printf("absent: %d wrong\n", wrong);
  MPI_Comm_free(&again);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
  return wrong != 0;
}
#endif

}  // namespace

int main(int count, char** arguments) {
#if HAS_SESSIONS
  if (count > 1 && std::strcmp(arguments[1], "session") == 0) return session();
#endif
  int level = count > 1 ? std::atoi(arguments[1]) : 0, provided = 0, rank = 0, size = 0, wrong = 0;
  constexpr int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
                            MPI_THREAD_MULTIPLE};
  if (count > 1)
    MPI_Init_thread(nullptr, nullptr, levels[level], &provided);
  else
    MPI_Init(nullptr, nullptr);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  // Nothing has been sent that this program did not send: from the one before comes its own.
  int token = rank, got = -1;
  MPI_Status status;
  MPI_Request request;
  MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
  MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD);
  MPI_Wait(&request, &status);
  wrong += got != (rank + size - 1) % size || status.MPI_TAG != 3;
  wrong += collectives(MPI_COMM_WORLD);
  MPI_Comm again, half;
  MPI_Comm_dup(MPI_COMM_WORLD, &again);
  MPI_Comm_split(again, rank % 2, 0, &half);
  wrong += collectives(again) + collectives(half);
  MPI_Comm_free(&again);
  MPI_Comm_free(&half);
  int stray = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &stray, MPI_STATUS_IGNORE);
  wrong += stray;
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) std::printf("absent: %d wrong\n", wrong);
  MPI_Finalize();
  return wrong != 0;
}
