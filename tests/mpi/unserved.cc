// SPDX-License-Identifier: BSD-3-Clause
// No thread brings nonblocking collectives forward. Rank 0's Bcast begins when its Barrier is over,
// and by then it is in a call that waits for rank 1, which has to get the Bcast first. The argument
// says in which one. Prints "unserved: N wrong".
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

void wait_for_the_other(int way) {
  int got = 0, there = 0;
  MPI_Status status;
  MPI_Message message;
  switch (way) {
    case 0:
      break;
    case 1:
      MPI_Probe(1, 5, MPI_COMM_WORLD, &status);
      break;
    case 2:
      while (!there) MPI_Iprobe(1, 5, MPI_COMM_WORLD, &there, &status);
      break;
    case 3:
      MPI_Ssend(&got, 1, MPI_INT, 1, 6, MPI_COMM_WORLD);
      break;
    case 4:
      MPI_Mprobe(1, 5, MPI_COMM_WORLD, &message, &status);
      MPI_Mrecv(&got, 1, MPI_INT, &message, &status);
      return;
    default:
      MPI_Sendrecv(&got, 1, MPI_INT, 1, 6, &got, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &status);
      return;
  }
  MPI_Recv(&got, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &status);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int way = std::atoi(argv[1]), count = 100'000;
  int rank, wrong = 0, word = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::vector<int> data(count, rank == 0 ? 7 : 0);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) ::usleep(200'000);
  MPI_Request requests[2];
  MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
  MPI_Ibcast(data.data(), count, MPI_INT, 0, MPI_COMM_WORLD, &requests[1]);
  if (rank == 0) wait_for_the_other(way);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  if (rank == 1) {
    for (const int each : data) wrong += each != 7;
    if (way == 3) MPI_Recv(&word, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&word, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
    if (way == 5) MPI_Recv(&word, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    std::printf("unserved: %d wrong\n", wrong);
  }
  MPI_Finalize();
}
