// SPDX-License-Identifier: BSD-3-Clause
// Ranks that are alone on their nodes: sums of floats have the same bits in each call. Long ones
// are Tutti's from the first call on, short ones the MPI's.
#include <mpi.h>

#include <cstdio>
#include <cstring>
#include <vector>

namespace {

using Values = std::vector<double>;

// How many calls gave other bits than the first one.
template <class Call>
int count_changes(int calls, std::size_t results, Call call) {
  Values first(results), now(results);
  int changes = 0;
  for (int i = 0; i < calls; ++i) {
    call(i == 0 ? first.data() : now.data());
    changes += i > 0 && std::memcmp(first.data(), now.data(), results * sizeof(double)) != 0;
  }
  return changes;
}

void add(void* from, void* to, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i) static_cast<double*>(to)[i] += static_cast<double*>(from)[i];
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  // The first call on each of these.
  MPI_Comm blocks, before, most, late, users;
  MPI_Comm_dup(MPI_COMM_WORLD, &blocks);
  MPI_Comm_dup(MPI_COMM_WORLD, &before);
  MPI_Comm_dup(MPI_COMM_WORLD, &most);
  MPI_Comm_dup(MPI_COMM_WORLD, &late);
  MPI_Comm_dup(MPI_COMM_WORLD, &users);
  constexpr int calls = 40, few = 8, n = 1 << 17;  // 1 MiB
  const int block = (n + size - 1) / size;
  Values mine(4 * n);
  for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = 1.0 / (3 + 7 * rank + i % 1000);
  // Short and long ones by turns, on the fourth communicator beginning with short ones.
  for (const MPI_Comm comm : {MPI_COMM_WORLD, late}) {
    Values longs(n), first_longs(n), shorts(64), first_shorts(64);
    for (int call = 0; call < calls; ++call) {
      for (const bool is_long : {comm == MPI_COMM_WORLD, comm != MPI_COMM_WORLD}) {
        Values& now = is_long ? longs : shorts;
        Values& first = is_long ? first_longs : first_shorts;
        MPI_Allreduce(mine.data(), now.data(), static_cast<int>(now.size()), MPI_DOUBLE, MPI_SUM,
                      comm);
        if (call == 0) first = now;
        wrong += first != now;
      }
    }
  }
  wrong += count_changes(calls, block, [&](double* to) {
    MPI_Reduce_scatter_block(mine.data(), to, block, MPI_DOUBLE, MPI_SUM, blocks);
  });
  wrong += count_changes(
      calls, n, [&](double* to) { MPI_Scan(mine.data(), to, n, MPI_DOUBLE, MPI_SUM, before); });
  wrong += count_changes(few, 4 * n, [&](double* to) {
    MPI_Reduce(mine.data(), to, 4 * n, MPI_DOUBLE, MPI_SUM, 0, most);
  });
  // Whether an operation of the user is long, ranks may see differently: it is the MPI's.
  MPI_Op own;
  MPI_Op_create(add, 1, &own);
  Values sums(n);
  MPI_Allreduce(mine.data(), sums.data(), n, MPI_DOUBLE, own, users);
  MPI_Op_free(&own);
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) std::printf("apart: %d wrong\n", wrong);
  MPI_Comm_free(&blocks);
  MPI_Comm_free(&before);
  MPI_Comm_free(&most);
  MPI_Comm_free(&late);
  MPI_Comm_free(&users);
  MPI_Finalize();
  return 0;
}
