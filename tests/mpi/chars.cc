// SPDX-License-Identifier: BSD-3-Clause
// Reductions of MPI_CHAR, which MPI does not define. Prints "chars: A accepted, R refused, W
// wrong": of the operations that the bare MPI computes, and of those that it does not.
#include <mpi.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "bare.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int accepted = 0, refused = 0, wrong = 0;
  for (const MPI_Op op : {MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN, MPI_LAND, MPI_BAND, MPI_BXOR})
    for (const int count : {1, 1000, 100000}) {
      std::vector<char> send(static_cast<std::size_t>(count)), theirs(send), ours(send);
      const int most = op == MPI_SUM ? 40 : op == MPI_PROD ? 5 : 127;
      for (int i = 0; i < count; ++i)
        send[static_cast<std::size_t>(i)] =
            static_cast<char>((i * 37 + rank * 91) % (2 * most + 1) - most);
      const int bare =
          BARE(Allreduce)(send.data(), theirs.data(), count, MPI_CHAR, op, MPI_COMM_WORLD);
      const int code = MPI_Allreduce(send.data(), ours.data(), count, MPI_CHAR, op, MPI_COMM_WORLD);
      ++(bare == MPI_SUCCESS ? accepted : refused);
      int classes[2];
      MPI_Error_class(bare, &classes[0]);
      MPI_Error_class(code, &classes[1]);
      if (classes[0] != classes[1] || (bare == MPI_SUCCESS && ours != theirs)) ++wrong;
    }
  int all = 0;
  BARE(Allreduce)(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) std::printf("chars: %d accepted, %d refused, %d wrong\n", accepted, refused, all);
  MPI_Finalize();
  return all != 0;
}
