// SPDX-License-Identifier: BSD-3-Clause
// MPI_Reduce_scatter_c and its nonblocking form on an intercommunicator, whose groups have
// unequally many ranks. Behind the counts comes a page that cannot be read. Where the MPI has none
// of large counts Tutti has one, which a program finds by its name. Prints "own_counts: N wrong".
#include <dlfcn.h>
#include <mpi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

// At the end of what can be read.
MPI_Count* counts_of(int ranks) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const memory =
      ::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  char* const end = static_cast<char*>(memory) + page;
  ::mprotect(end, page, PROT_NONE);
  return reinterpret_cast<MPI_Count*>(end) - ranks;
}

template <class Function>
Function find(const char* name) {
  void* const found = ::dlsym(RTLD_DEFAULT, name);
  if (found == nullptr) std::abort();
  return reinterpret_cast<Function>(found);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, ranks, others, wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const bool alone = rank == size - 1;  // in its group
  MPI_Comm group, inter;
  MPI_Comm_split(MPI_COMM_WORLD, alone, rank, &group);
  MPI_Intercomm_create(group, 0, MPI_COMM_WORLD, alone ? 0 : size - 1, 1, &inter);
  MPI_Comm_size(inter, &ranks);
  MPI_Comm_remote_size(inter, &others);
  MPI_Count* const counts = counts_of(ranks);
  for (int i = 0; i < ranks; ++i) counts[i] = (size - 1) / ranks;
  int mine[16], sums[16];
  const auto check = [&] {
    for (int i = 0; i < (size - 1) / ranks; ++i) wrong += sums[i] != 3 * others;
    for (int& sum : sums) sum = -1;
  };
  for (int& each : mine) each = 3;
  using Blocking = int (*)(const void*, void*, const MPI_Count*, MPI_Datatype, MPI_Op, MPI_Comm);
  using Starting =
      int (*)(const void*, void*, const MPI_Count*, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request*);
  const auto reduce = find<Blocking>("MPI_Reduce_scatter_c");
  const auto start = find<Starting>("MPI_Ireduce_scatter_c");
  wrong += reduce(mine, sums, counts, MPI_INT, MPI_SUM, inter) != MPI_SUCCESS;
  check();
  MPI_Request request;
  wrong += start(mine, sums, counts, MPI_INT, MPI_SUM, inter, &request) != MPI_SUCCESS;
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  check();
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) std::printf("own_counts: %d wrong\n", wrong);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&group);
  MPI_Finalize();
}
