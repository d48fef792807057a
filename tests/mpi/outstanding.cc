// SPDX-License-Identifier: BSD-3-Clause
// What nonblocking collectives cost besides time: threads, memory, and the waits of programs that
// have none. Compiled by each MPI's own mpicxx.
//
//   outstanding [--requests N] [--rounds N]
//
// Prints, as rank 0 saw it: "threads N" before any nonblocking collective; "wait N ns", what
// MPI_Wait takes for a request of a message that has arrived, best of many batches; then for every
// round in which N collectives are outstanding at once "round N: rss N KiB, N s"; at last "threads
// N then" and "outstanding: N requests in N rounds, N wrong". Without requests only the first two.
#include <malloc.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "proc.h"

namespace {

int threads() {
  int count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/task"))
    ++count;
  return count;
}

// Without what the allocator keeps of freed memory: whether it can give back the last round's
// depends on whose small block happens to lie behind it.
long resident_kib() {
  malloc_trim(0);
  return proc_kib("/proc/self/status", "VmRSS:");
}

// Of a message to oneself, so that nobody else takes part.
double wait_ns() {
  using Clock = std::chrono::steady_clock;
  constexpr int batches = 200, waits = 200;
  double best = 1e9;
  for (int batch = 0; batch < batches; ++batch) {
    static int sent[waits], received[waits];
    static MPI_Request receives[waits], sends[waits];
    for (int i = 0; i < waits; ++i) {
      MPI_Irecv(&received[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &receives[i]);
      MPI_Isend(&sent[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &sends[i]);
    }
    MPI_Waitall(waits, sends, MPI_STATUSES_IGNORE);
    const auto begin = Clock::now();
    for (MPI_Request& request : receives) MPI_Wait(&request, MPI_STATUS_IGNORE);
    best = std::min(best, std::chrono::duration<double, std::nano>(Clock::now() - begin).count());
  }
  return best / waits;
}

// All kinds of arguments that are small: sums, and messages from every rank in turn. With `apart`,
// rank 0 has started all of them before another rank starts any: it cannot hold more at once.
int round_of(int requests, int rank, int ranks, bool apart) {
  std::vector<int> sums(static_cast<std::size_t>(requests)), values(sums.size());
  std::vector<MPI_Request> pending(sums.size());
  if (apart && rank != 0) MPI_Recv(nullptr, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < requests; ++i) {
    const auto at = static_cast<std::size_t>(i);
    values[at] = rank + i;
    sums[at] = -1;
    if (i % 2 == 0)
      MPI_Iallreduce(&values[at], &sums[at], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &pending[at]);
    else
      MPI_Ibcast(&values[at], 1, MPI_INT, i % ranks, MPI_COMM_WORLD, &pending[at]);
  }
  for (int to = 1; apart && rank == 0 && to < ranks; ++to)
    MPI_Send(nullptr, 0, MPI_INT, to, 0, MPI_COMM_WORLD);
  MPI_Waitall(requests, pending.data(), MPI_STATUSES_IGNORE);
  int wrong = 0;
  for (int i = 0; i < requests; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const int sum = ranks * i + ranks * (ranks - 1) / 2;
    wrong += i % 2 == 0 ? sums[at] != sum : values[at] != i % ranks + i;
  }
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  int requests = 10000, rounds = 6;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!std::strcmp(argv[i], "--requests")) requests = std::atoi(argv[i + 1]);
    if (!std::strcmp(argv[i], "--rounds")) rounds = std::atoi(argv[i + 1]);
  }
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int one = 1, all = 0;
  for (int i = 0; i < 100; ++i) MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  const double wait = wait_ns();
  if (rank == 0) std::printf("threads %d\nwait %.1f ns\n", threads(), wait);
  int wrong = 0;
  for (int round = 1; requests > 0 && round <= rounds; ++round) {
    const double begin = MPI_Wtime();
    wrong += round_of(requests, rank, ranks, round == 1);
    MPI_Barrier(MPI_COMM_WORLD);
    const double took = MPI_Wtime() - begin;
    if (rank == 0) std::printf("round %d: rss %ld KiB, %.3f s\n", round, resident_kib(), took);
  }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0 && requests > 0)
    std::printf("threads %d then\noutstanding: %d requests in %d rounds, %d wrong\n", threads(),
                requests, rounds, wrong);
  MPI_Finalize();
}
