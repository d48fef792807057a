// SPDX-License-Identifier: BSD-3-Clause
// Rank 1 of two sends `sent` KiB in a Gather, and rank 0 has room for `room` KiB: the arguments.
// Rank 0 then prints "lengths: error" or "lengths: none".
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int sent = 1024 * std::atoi(argv[1]), room = 1024 * std::atoi(argv[2]);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  std::vector<char> mine(rank == 0 ? room : sent), all(2 * room);
  const int code = MPI_Gather(mine.data(), static_cast<int>(mine.size()), MPI_CHAR, all.data(),
                              room, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    std::printf("lengths: %s\n", code != MPI_SUCCESS ? "error" : "none");
    std::fflush(stdout);
  }
  if (rank == 1) ::sleep(3);  // rank 0 is to say it first, and ends both
  MPI_Abort(MPI_COMM_WORLD, 0);
}
