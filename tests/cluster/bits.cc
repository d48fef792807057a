// SPDX-License-Identifier: BSD-3-Clause
// Rounding tells in which order a sum was made. Rank 0 prints "bits: N of M sums differ", of those
// that are not the same to the last bit on all ranks.
#include <mpi.h>

#include <cstdio>
#include <cstring>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, sums = 0, differ = 0, all = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (const int count : {1, 100, 1000, 5000, 12'000, 20'000, 40'000, 300'000}) {
    std::vector<double> terms(static_cast<std::size_t>(count)), sum(terms);
    for (std::size_t i = 0; i < terms.size(); ++i)
      terms[i] = 1.0 / (3 + 7 * rank + static_cast<int>(i % 11));
    MPI_Allreduce(terms.data(), sum.data(), count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    terms = sum;
    PMPI_Bcast(terms.data(), count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    ++sums;
    differ += std::memcmp(terms.data(), sum.data(), terms.size() * sizeof(double)) != 0;
  }
  PMPI_Reduce(&differ, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) std::printf("bits: %d of %d sums differ\n", all, sums);
  MPI_Finalize();
  return 0;
}
