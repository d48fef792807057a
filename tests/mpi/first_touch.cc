// SPDX-License-Identifier: BSD-3-Clause
// Receives into memory that nobody has touched, in each collective that peers may write for, and
// prints "COLLECTIVE: N of M pages are others'", of the rank that has most of them: pages that this
// rank has not touched before others did.
#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr std::size_t page = 4096, pages = 2048, bytes = pages * page;
int g_rank, g_ranks;

// Of a buffer of this rank. The highest bit of an entry says that the page is in its page table.
long untouched(const char* buffer) {
  const int file = ::open("/proc/self/pagemap", O_RDONLY);
  if (file < 0) MPI_Abort(MPI_COMM_WORLD, 1);
  long found = 0;
  for (std::size_t i = 0; i < pages; ++i) {
    std::uint64_t entry = 0;
    const auto number = reinterpret_cast<std::uintptr_t>(buffer) / page + i;
    if (::pread(file, &entry, sizeof entry, static_cast<off_t>(number * sizeof entry)) < 0)
      MPI_Abort(MPI_COMM_WORLD, 1);
    found += entry >> 63 == 0;
  }
  ::close(file);
  return found;
}

// call(buffer) receives all of the buffer, on the root or on all ranks. The buffer stays: the next
// one would be made of its pages.
template <class Call>
void look(const char* name, bool receives, Call call) {
  auto* buffer = static_cast<char*>(std::aligned_alloc(page, bytes));
  call(buffer);
  long others = receives ? untouched(buffer) : 0, most = 0;
  PMPI_Reduce(&others, &most, 1, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
  if (g_rank == 0) std::printf("%s: %ld of %zu pages are others'\n", name, most, pages);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &g_ranks);
  const MPI_Comm world = MPI_COMM_WORLD;
  const bool root = g_rank == 0;
  constexpr int n = bytes / sizeof(double);
  const int each = n / g_ranks;
  const std::vector<double> mine(n, 1.0);
  std::vector<int> counts(static_cast<std::size_t>(g_ranks), each), places(counts);
  for (int q = 0; q < g_ranks; ++q) places[static_cast<std::size_t>(q)] = q * each;
  look("Bcast", !root, [&](char* to) {
    if (root) std::copy(mine.begin(), mine.end(), reinterpret_cast<double*>(to));
    MPI_Bcast(to, n, MPI_DOUBLE, 0, world);
  });
  look("Gather", root, [&](char* to) {
    MPI_Gather(mine.data(), each, MPI_DOUBLE, to, each, MPI_DOUBLE, 0, world);
  });
  look("Gatherv", root, [&](char* to) {
    MPI_Gatherv(mine.data(), each, MPI_DOUBLE, to, counts.data(), places.data(), MPI_DOUBLE, 0,
                world);
  });
  look("Allgather", true, [&](char* to) {
    MPI_Allgather(mine.data(), each, MPI_DOUBLE, to, each, MPI_DOUBLE, world);
  });
  look("Alltoall", true,
       [&](char* to) { MPI_Alltoall(mine.data(), each, MPI_DOUBLE, to, each, MPI_DOUBLE, world); });
  look("Reduce", root,
       [&](char* to) { MPI_Reduce(mine.data(), to, n, MPI_DOUBLE, MPI_SUM, 0, world); });
  look("Allreduce", true,
       [&](char* to) { MPI_Allreduce(mine.data(), to, n, MPI_DOUBLE, MPI_SUM, world); });
  look("Scan", true, [&](char* to) { MPI_Scan(mine.data(), to, n, MPI_DOUBLE, MPI_SUM, world); });
  MPI_Finalize();
  return 0;
}
