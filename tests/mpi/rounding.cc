// SPDX-License-Identifier: BSD-3-Clause
// A nonblocking sum is rounded as the program wants it, whichever thread computes. Prints
// "rounding: N wrong".
#include <mpi.h>
#include <unistd.h>

#include <cfenv>
#include <cmath>
#include <cstdio>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const auto sum = [&](bool waits) {
    const double mine = rank == 0 ? 1.0 : std::ldexp(1.0, -60);
    double result = 0;
    MPI_Request request;
    MPI_Iallreduce(&mine, &result, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    if (!waits) usleep(20'000);  // a thread computes meanwhile, if there is one
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return result;
  };
  for (int i = 0; i < 20; ++i) wrong += sum(true) != 1.0;  // it starts as this thread is now
  std::fesetround(FE_UPWARD);
  for (int i = 0; i < 20; ++i) wrong += sum(i % 2 == rank) != 1.0 + std::ldexp(1.0, -52);
  std::fesetround(FE_TONEAREST);
  for (int i = 0; i < 20; ++i) wrong += sum(i % 2 == rank) != 1.0;
  MPI_Finalize();
  std::printf("rounding: %d wrong\n", wrong);
  return wrong != 0;
}
