// SPDX-License-Identifier: BSD-3-Clause
// At MPI_THREAD_MULTIPLE, one thread of a rank makes a communicator, and waits for the other rank
// in there. That comes only after a collective in which another thread of the first rank uses a
// datatype for the first time.
#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <thread>

int main(int argc, char** argv) {
  int level, rank, values[4] = {0, 0, 0, 0};
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm other, copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  MPI_Barrier(other);
  MPI_Datatype spread;
  MPI_Type_vector(2, 1, 2, MPI_INT, &spread);
  MPI_Type_commit(&spread);
  const auto make = [&] { MPI_Comm_dup(MPI_COMM_WORLD, &copy); };
  const int sent[4] = {rank + 1, 0, rank + 1, 0};
  int received[8] = {};
  const auto gather = [&] { MPI_Allgather(sent, 1, spread, received, 2, MPI_INT, other); };
  if (rank == 0) {
    std::thread maker(make);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // mostly it is in there then
    gather();
    maker.join();
  } else {
    gather();
    make();
  }
  MPI_Allreduce(&received[2], values, 1, MPI_INT, MPI_SUM, copy);
  if (rank == 0) std::printf("types_while: %d at level %d\n", values[0], level);
  MPI_Type_free(&spread);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&other);
  MPI_Finalize();
  return 0;
}
