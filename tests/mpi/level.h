// SPDX-License-Identifier: BSD-3-Clause
// MPI_Init, or MPI_Init_thread where the environment names a level: TEST_THREADS=3 is
// MPI_THREAD_MULTIPLE.
#pragma once

#include <mpi.h>

#include <cstdlib>

inline void init_as_told(int* argc, char*** argv) {
  constexpr int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
                            MPI_THREAD_MULTIPLE};
  const char* const told = std::getenv("TEST_THREADS");
  if (told == nullptr) {
    MPI_Init(argc, argv);
    return;
  }
  int given = 0;
  MPI_Init_thread(argc, argv, levels[std::atoi(told)], &given);
  if (given < levels[std::atoi(told)]) MPI_Abort(MPI_COMM_WORLD, 1);
}
