// SPDX-License-Identifier: BSD-3-Clause
// A nonblocking sum is rounded as the program wants it, whichever thread computes. Prints
// "rounding: N wrong".
#include <mpi.h>
#include <unistd.h>

#include <cfenv>
#include <cmath>
#include <cstdio>

namespace {

void add(void* in, void* in_out, int* length, MPI_Datatype*) {
  for (int i = 0; i < *length; ++i)
    static_cast<double*>(in_out)[i] += static_cast<const double*>(in)[i];
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Op op_add;
  MPI_Op_create(add, 1, &op_add);
  const auto sum = [&](bool waits, MPI_Op op, int wanted) {
    std::fesetround(wanted);
    const double mine = rank == 0 ? 1.0 : std::ldexp(1.0, -60);
    double result = 0;
    MPI_Request request;
    MPI_Iallreduce(&mine, &result, 1, MPI_DOUBLE, op, MPI_COMM_WORLD, &request);
    std::fesetround(FE_TONEAREST);  // it is as it was when it was called
    if (!waits) usleep(20'000);     // a thread computes meanwhile, if there is one
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return result;
  };
  const double next = 1.0 + std::ldexp(1.0, -52);
  sum(true, MPI_SUM, FE_TONEAREST);  // a thread starts as this one is now
  const MPI_Op ops[] = {MPI_SUM, op_add};
  for (const MPI_Op op : ops)
    for (int i = 0; i < 20; ++i) {
      wrong += sum(i % 2 == rank, op, FE_UPWARD) != next;
      wrong += sum(i % 2 == rank, op, FE_TONEAREST) != 1.0;
    }
  MPI_Op_free(&op_add);
  std::printf("rounding: %d wrong\n", wrong);
  std::fflush(stdout);  // launchers may lose what comes after MPI_Finalize
  MPI_Finalize();
  return wrong != 0;
}
