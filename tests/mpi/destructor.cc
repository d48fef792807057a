// SPDX-License-Identifier: BSD-3-Clause
// Collectives in the destructor of a static object, which ends MPI, after those of main. Prints
// "destructor: N wrong".
#include <mpi.h>

#include <cstdio>
#include <vector>

namespace {

// Those of a thread's own objects have run by then, and what they had is free.
struct LastCalls {
  ~LastCalls() {
    int size, wrong = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    std::vector<std::vector<char>> all;
    for (int i = 0; i < 16; ++i) all.emplace_back((128 << 10) + i * (8 << 10), 1);
    for (std::vector<char>& each : all)
      MPI_Allreduce(MPI_IN_PLACE, each.data(), static_cast<int>(each.size()), MPI_CHAR, MPI_SUM,
                    MPI_COMM_WORLD);
    for (const std::vector<char>& each : all)
      for (const char value : each) wrong += value != size;
    std::printf("destructor: %d wrong\n", wrong);
    std::fflush(stdout);  // launchers may lose what comes after MPI_Finalize
    MPI_Finalize();
  }
} last_calls;

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  std::vector<double> data(100'000, 1), sums(data.size());
  for (int i = 0; i < 20; ++i)
    MPI_Allreduce(data.data(), sums.data(), static_cast<int>(data.size()), MPI_DOUBLE, MPI_SUM,
                  MPI_COMM_WORLD);
  return 0;
}
