// SPDX-License-Identifier: BSD-3-Clause
// Each rank prints "rank R of N on HOST node FIRST:SIZE", after the lowest rank and the number of
// those that MPI finds on its host, and how many results of collectives were wrong.
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks, first, near, wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &near);
  MPI_Allreduce(&rank, &first, 1, MPI_INT, MPI_MIN, node);
  for (const int count : {1, 1000, 10000, 300000}) {
    std::vector<long> mine(static_cast<std::size_t>(count), rank + 1), sum(mine), sent(mine);
    MPI_Allreduce(mine.data(), sum.data(), count, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    for (const long each : sum) wrong += each != ranks * (ranks + 1) / 2;
    MPI_Bcast(sent.data(), count, MPI_LONG, ranks - 1, MPI_COMM_WORLD);
    for (const long each : sent) wrong += each != ranks;
    MPI_Barrier(MPI_COMM_WORLD);
  }
  char host[256];
  gethostname(host, sizeof host);
  std::printf("rank %d of %d on %s node %d:%d, %d wrong\n", rank, ranks, host, first, near, wrong);
  MPI_Finalize();
  return wrong != 0;
}
