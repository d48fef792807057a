// SPDX-License-Identifier: BSD-3-Clause
// How much a rank's memory grows in a Gather, a Scatter and an Allgather of large blocks, beside
// the program's own buffers. Rank 0 prints the most of any rank, in KiB.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "../mpi/proc.h"

namespace {

// The highest that it was is forgotten.
void begin_anew() {
  std::FILE* file = std::fopen("/proc/self/clear_refs", "w");
  if (file == nullptr) std::exit(1);
  std::fputs("5", file);
  std::fclose(file);
}

template <class Call>
void measure(const char* name, int rank, Call call) {
  MPI_Barrier(MPI_COMM_WORLD);
  const long before = proc_kib("/proc/self/status", "VmRSS:");
  begin_anew();
  call();
  long grown = proc_kib("/proc/self/status", "VmHWM:") - before, most = 0;
  MPI_Reduce(&grown, &most, 1, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) std::printf("peak: %s %ld\n", name, most);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int call = 0; call < 100; ++call) MPI_Barrier(MPI_COMM_WORLD);  // they meet
  const int block = 16 << 20;
  std::vector<char> mine(block, static_cast<char>(rank)), all(std::size_t{1} * block * size, 'x');
  const int root = size - 1;
  measure("gather", rank, [&] {
    MPI_Gather(mine.data(), block, MPI_CHAR, all.data(), block, MPI_CHAR, root, MPI_COMM_WORLD);
  });
  measure("scatter", rank, [&] {
    MPI_Scatter(all.data(), block, MPI_CHAR, mine.data(), block, MPI_CHAR, root, MPI_COMM_WORLD);
  });
  measure("allgather", rank, [&] {
    MPI_Allgather(mine.data(), block, MPI_CHAR, all.data(), block, MPI_CHAR, MPI_COMM_WORLD);
  });
  int wrong = 0;
  for (int q = 0; q < size; ++q) {
    const char* const block_of_q = all.data() + std::size_t{1} * q * block;
    // What the root has scattered is what it had gathered.
    wrong +=
        static_cast<int>(block - std::count(block_of_q, block_of_q + block, static_cast<char>(q)));
  }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) std::printf("peak: %d wrong\n", wrong);
  MPI_Finalize();
  return 0;
}
