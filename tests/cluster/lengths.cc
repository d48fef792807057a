// SPDX-License-Identifier: BSD-3-Clause
// lengths FILE SENT ROOM [ROOT]: in a Gather the root has room for ROOM KiB from each rank, and
// every other rank, none of which is on its node, sends SENT. The root then writes "error" or
// "none" to FILE and ends all: a launcher that is told of an abort may lose what was printed before
// it.
#include <mpi.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int sent = 1024 * std::atoi(argv[2]), room = 1024 * std::atoi(argv[3]);
  const int root = argc > 4 ? std::atoi(argv[4]) : 0;
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Barrier(MPI_COMM_WORLD);
  const bool near = rank % 2 == root % 2;
  std::vector<char> mine(near ? room : sent), all(std::size_t{1} * size * room);
  const int code = MPI_Gather(mine.data(), static_cast<int>(mine.size()), MPI_CHAR, all.data(),
                              room, MPI_CHAR, root, MPI_COMM_WORLD);
  if (rank == root) {
    std::ofstream(argv[1]) << (code != MPI_SUCCESS ? "error" : "none");
  } else {
    // The root is to say it first, and ends all of them. To tell them of it Intel MPI has to
    // connect.
    const double began = MPI_Wtime();
    for (int flag; MPI_Wtime() - began < 3; ::usleep(1000))
      MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  }
  MPI_Abort(MPI_COMM_WORLD, 0);
}
