// SPDX-License-Identifier: BSD-3-Clause
// What TUTTI_TRACE is to show: each step calls Iallreduce on `--doubles` doubles, computes for
// `--compute` microseconds, waits for it, and calls Allreduce. Then it tests until one is over.
// Ends with `--kill` by a signal instead of MPI_Finalize.
#include <mpi.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

int main(int argc, char** argv) {
  int steps = 20, doubles = 1 << 15, compute_us = 500;
  bool kill = false;
  for (int i = 1; i + 1 < argc; i += 2) {
    const int value = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--steps") == 0) steps = value;
    if (std::strcmp(argv[i], "--doubles") == 0) doubles = value;
    if (std::strcmp(argv[i], "--compute") == 0) compute_us = value;
    if (std::strcmp(argv[i], "--kill") == 0) kill = value != 0;
  }
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const auto count = static_cast<std::size_t>(doubles);
  std::vector<double> mine(count, rank + 1), sum(count), again(count);
  const auto compute = [&] {
    const double begin = MPI_Wtime();
    while (MPI_Wtime() < begin + 1e-6 * compute_us) {
    }
  };
  MPI_Request request;
  const auto start = [&] {
    MPI_Iallreduce(mine.data(), sum.data(), doubles, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
  };
  for (int step = 0; step < steps; ++step) {
    start();
    compute();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Allreduce(mine.data(), again.data(), doubles, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  start();
  for (int flag = 0; flag == 0;) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  const double wanted = 0.5 * size * (size + 1);
  if (sum[0] != wanted || again[count - 1] != wanted) MPI_Abort(MPI_COMM_WORLD, 2);
  if (rank == 0) std::printf("trace: %d steps\n", steps);
  std::fflush(stdout);
  if (kill) std::raise(SIGKILL);
  MPI_Finalize();
}
