// SPDX-License-Identifier: BSD-3-Clause
// A tool that begins and ends with the program, as most do.
#include <mpi.h>

#include <cstdio>

extern "C" int MPI_Init(int* argc, char*** argv) {
  const int code = PMPI_Init(argc, argv);
  std::puts("the tool has begun");
  return code;
}

extern "C" int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const int code = PMPI_Init_thread(argc, argv, required, provided);
  std::puts("the tool has begun");
  return code;
}

extern "C" int MPI_Finalize() {
  std::puts("the tool has ended");
  return PMPI_Finalize();
}
