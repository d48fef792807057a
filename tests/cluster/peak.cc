// SPDX-License-Identifier: BSD-3-Clause
// How much a rank's memory grows in a Gather, a Scatter and an Allgather of large blocks, or in
// what is named: an Alltoall or Alltoallv to which the last rank comes late. Beside the program's
// own buffers; rank 0 prints the most of any rank, in KiB.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
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

// The MPI looks at its messages, and may keep what comes early.
void come_late() {
  const double begin = MPI_Wtime();
  while (MPI_Wtime() - begin < 0.3) {
    int found;
    MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
  }
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
  const std::string_view late = argc > 1 ? argv[1] : "";
  std::vector<char> got(late.empty() ? 0 : all.size(), 'y');
  int wrong = 0;
  const auto is = [&](int q, const std::vector<char>& buffer, int value) {
    const char* const block_of_q = buffer.data() + std::size_t{1} * q * block;
    return std::count(block_of_q, block_of_q + block, static_cast<char>(value)) == block;
  };
  if (late.empty()) {
    measure("gather", rank, [&] {
      MPI_Gather(mine.data(), block, MPI_CHAR, all.data(), block, MPI_CHAR, root, MPI_COMM_WORLD);
    });
    measure("scatter", rank, [&] {
      MPI_Scatter(all.data(), block, MPI_CHAR, mine.data(), block, MPI_CHAR, root, MPI_COMM_WORLD);
    });
    measure("allgather", rank, [&] {
      MPI_Allgather(mine.data(), block, MPI_CHAR, all.data(), block, MPI_CHAR, MPI_COMM_WORLD);
    });
    // What the root has scattered is what it had gathered.
    for (int q = 0; q < size; ++q) wrong += !is(q, all, q);
  } else if (late == "alltoall") {
    for (int q = 0; q < size; ++q)
      std::fill_n(all.data() + std::size_t{1} * q * block, block,
                  static_cast<char>(size * rank + q));
    measure("alltoall", rank, [&] {
      if (rank == root) come_late();
      MPI_Alltoall(all.data(), block, MPI_CHAR, got.data(), block, MPI_CHAR, MPI_COMM_WORLD);
    });
    for (int q = 0; q < size; ++q) wrong += !is(q, got, size * q + rank);
  } else {  // all to the last one
    std::vector<int> sent(size, 0), received(size, rank == root ? block : 0), at(size);
    sent[root] = block;
    for (int q = 0; q < size; ++q) at[q] = q * block;
    measure("alltoallv", rank, [&] {
      if (rank == root) come_late();
      MPI_Alltoallv(mine.data(), sent.data(), std::vector<int>(size, 0).data(), MPI_CHAR,
                    got.data(), received.data(), at.data(), MPI_CHAR, MPI_COMM_WORLD);
    });
    for (int q = 0; q < size; ++q) wrong += !is(q, got, rank == root ? q : 'y');
  }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) std::printf("peak: %d wrong\n", wrong);
  MPI_Finalize();
  return 0;
}
