// SPDX-License-Identifier: BSD-3-Clause
// Whether Open MPI gives the core away while Tutti looks after its messages. Prints
// "yields: N by the MPI in M calls, E elsewhere": in collectives, and in a wait of the MPI's own.
#include <dlfcn.h>
#include <mpi.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace {

long g_by_the_mpi = 0;

}  // namespace

// In place of libc's, for everybody in this process.
extern "C" int sched_yield() {
  Dl_info caller{};
  if (dladdr(__builtin_return_address(0), &caller) != 0 && caller.dli_fname != nullptr &&
      std::strstr(caller.dli_fname, "libtutti") == nullptr)
    ++g_by_the_mpi;
  return static_cast<int>(syscall(SYS_sched_yield));
}

int main(int argc, char** argv) {
  constexpr int calls = 20000;
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Barrier(MPI_COMM_WORLD);
  g_by_the_mpi = 0;
  for (int i = 0; i < calls; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (i % 1000 == 0 && rank == 0) usleep(3000);  // the others wait for long
  }
  const long in_collectives = g_by_the_mpi;
  // The MPI itself still does, where it waits.
  int token = 0;
  if (rank == 0) {
    usleep(100000);
    for (int to = 1; to < size; ++to) MPI_Send(&token, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
  } else {
    MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  long mine[2] = {in_collectives, g_by_the_mpi - in_collectives}, all[2] = {};
  MPI_Reduce(mine, all, 2, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0)
    std::printf("yields: %ld by the MPI in %d calls, %ld elsewhere\n", all[0], calls, all[1]);
  MPI_Finalize();
}
