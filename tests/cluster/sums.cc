// SPDX-License-Identifier: BSD-3-Clause
// Each rank prints "rank R of N on HOST node FIRST:SIZE", after the lowest rank and the number of
// those that MPI finds on its host, and how many results of collectives were wrong.
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
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
    // Rounding tells in which order a rank has added, and all get the same bits.
    std::vector<double> terms(static_cast<std::size_t>(count)), total(terms);
    for (std::size_t i = 0; i < terms.size(); ++i)
      terms[i] = 1.0 / (3 + 7 * rank + static_cast<int>(i % 11));
    MPI_Allreduce(terms.data(), total.data(), count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    terms = total;
    PMPI_Bcast(terms.data(), count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    wrong += std::memcmp(terms.data(), total.data(), terms.size() * sizeof(double)) != 0;
  }
  char host[256];
  gethostname(host, sizeof host);
  std::printf("rank %d of %d on %s node %d:%d, %d wrong\n", rank, ranks, host, first, near, wrong);
  MPI_Finalize();
  return wrong != 0;
}
