// SPDX-License-Identifier: BSD-3-Clause
// Rank 0 calls many Bcasts of 256 KiB, or a Gather of 64 MiB to rank 1, before rank 1, which
// meanwhile lets its MPI take what has come. ahead [gather]. Prints "grown: N KiB, N wrong": of
// rank 1's resident memory in that time.
#include <mpi.h>

#include <cstdio>
#include <vector>

#include "../mpi/proc.h"

namespace {

constexpr int calls = 400, ints = 64 * 1024, seconds = 1;

long resident_kib() { return proc_kib("/proc/self/status", "VmRSS:"); }

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::vector<int> data(ints);
  int wrong = 0;
  const auto bcast = [&](int call) {
    if (rank == 0) data[1] = call;
    MPI_Bcast(data.data(), ints, MPI_INT, 0, MPI_COMM_WORLD);
    wrong += data[1] != call;
  };
  constexpr int many = 256 * ints;
  std::vector<int> large, all;
  const auto gather = [&] {
    MPI_Gather(large.data(), many, MPI_INT, all.data(), many, MPI_INT, 1, MPI_COMM_WORLD);
    wrong += rank == 1 && all[many - 1] != 1;
  };
  const bool gathers = argc > 1;
  if (gathers) large.assign(many, rank + 1);
  if (gathers && rank == 1) all.assign(2 * many, 0);
  for (int call = 0; call < 3; ++call) bcast(call);
  MPI_Barrier(MPI_COMM_WORLD);
  const long before = resident_kib();
  const double began = MPI_Wtime();
  while (rank == 1 && MPI_Wtime() - began < seconds) {
    int flag;
    MPI_Iprobe(0, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  }
  const long grown = resident_kib() - before;
  for (int call = 0; call < (gathers ? 1 : calls); ++call) gathers ? gather() : bcast(call);
  if (rank == 1) std::printf("grown: %ld KiB, %d wrong\n", grown, wrong);
  MPI_Finalize();
}
