// SPDX-License-Identifier: BSD-3-Clause
// Allreduces of 1 MiB in the same two buffers, which are a block of malloc each. Prints
// "reused: N wrong".
#include <mpi.h>

#include <cstdio>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int count = 1 << 18;
  std::vector<int> mine(count), sums(count);
  for (int round = 0; round < 64; ++round) {
    for (int i = 0; i < count; ++i) mine[i] = (rank + 1) * (i + round);
    MPI_Allreduce(mine.data(), sums.data(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; ++i) wrong += sums[i] != size * (size + 1) / 2 * (i + round);
  }
  int all = 0;
  MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) std::printf("reused: %d wrong\n", all);
  MPI_Finalize();
}
