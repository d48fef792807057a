// SPDX-License-Identifier: BSD-3-Clause
// Receives into a buffer that the program has just filled with streaming stores, which x86 does not
// order with later stores: what a peer writes there has to come after them. streamed ROUNDS.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "arch/arch.h"

int main(int, char** arguments) {
  MPI_Init(nullptr, nullptr);
  const long rounds = std::atol(arguments[1]);
  constexpr std::size_t kib = 1024 / sizeof(long long);
  constexpr std::size_t sizes[] = {16 * kib, 32 * kib, 48 * kib, 64 * kib};
  std::vector<long long> buffer(64 * kib);  // so large a block is aligned for that
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  long wrong = 0;
  tutti::arch::Vector old;
  for (long round = 1; round <= rounds; ++round) {
    const std::size_t words = sizes[round % 4];
    if (rank == 0) std::fill_n(buffer.begin(), words, round);
    // All lines but a part of the last one, which stays in the processor until it has to go.
    std::fill_n(reinterpret_cast<long long*>(&old), sizeof old / sizeof round, -round);
    for (std::size_t i = 0; rank != 0 && i + 7 < words; i += sizeof old / sizeof round)
      tutti::arch::stream(&buffer[i], old);
    MPI_Bcast(buffer.data(), static_cast<int>(words), MPI_LONG_LONG, 0, MPI_COMM_WORLD);
    for (std::size_t i = 0; i < words; ++i) wrong += buffer[i] != round;
  }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) std::printf("streamed: %ld wrong\n", wrong);
  std::fflush(stdout);
  MPI_Finalize();
  return wrong != 0;
}
