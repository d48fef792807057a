// SPDX-License-Identifier: BSD-3-Clause
// What was sent before a collective is there after it: a single MPI_Iprobe or MPI_Improbe finds it.
// MPI promises that only to those who ask repeatedly. But the MPIs' own collectives see to it, and
// programs rely on that.
#include <mpi.h>

#include <cstdio>

namespace {

// How many messages rank 0 has received until a probe finds no more.
int receive_all(bool matched) {
  int received = 0;
  for (;;) {
    int there = 0, value = 0;
    MPI_Message message;
    MPI_Status status;
    if (matched)
      MPI_Improbe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &there, &message, &status);
    else
      MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &there, &status);
    if (there == 0) return received;
    if (matched)
      MPI_Mrecv(&value, 1, MPI_INT, &message, &status);
    else
      MPI_Recv(&value, 1, MPI_INT, status.MPI_SOURCE, 1, MPI_COMM_WORLD, &status);
    ++received;
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, missed = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  constexpr int rounds = 400;
  for (int round = 0; round < rounds; ++round) {
    // Collectives without messages between them: soon few of them look after the MPI.
    for (int i = 0; i < 500; ++i) MPI_Barrier(MPI_COMM_WORLD);
    if (rank != 0) MPI_Send(&round, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    if (round % 4 < 2) {
      MPI_Barrier(MPI_COMM_WORLD);
    } else {
      MPI_Request request;
      MPI_Ibarrier(MPI_COMM_WORLD, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (rank == 0 && receive_all(round % 2 == 0) < size - 1) ++missed;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) (void)receive_all(false);
  }
  if (rank == 0) std::printf("missed %d of %d\n", missed, rounds);
  MPI_Finalize();
  return 0;
}
