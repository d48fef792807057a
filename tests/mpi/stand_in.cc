// SPDX-License-Identifier: BSD-3-Clause
// A library that stands in for an MPI in programs of one rank, and a program of it (-DPROGRAM). It
// has the few functions that such programs need, and no profiling interface.
#include <cstdio>

extern "C" {
#ifdef PROGRAM
int MPI_Init(int*, char***);
int MPI_Comm_size(int, int*);
int MPI_Bcast(void*, int, int, int, int);
int MPI_Finalize();
int main() {
  int size = 0, data = 5;
  MPI_Init(nullptr, nullptr);
  MPI_Comm_size(0, &size);
  MPI_Bcast(&data, 1, 0, 0, 0);
  MPI_Finalize();
  std::printf("stand_in: %d rank\n", size);
  return 0;
}
#else
int MPI_Init(int*, char***) { return 0; }
int MPI_Comm_size(int, int* size) {
  *size = 1;
  return 0;
}
int MPI_Bcast(void*, int, int, int, int) { return 0; }
int MPI_Finalize() { return 0; }
#endif
}
