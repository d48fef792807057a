// SPDX-License-Identifier: BSD-3-Clause
// Unusual lives of a program: life WHAT. Prints "life: N wrong".
#include <mpi.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

int rank = 0, size = 0;

int sum_up(MPI_Comm comm, int count, int rounds) {
  std::vector<int> in(count), out(count);
  int wrong = 0;
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < count; ++i) in[i] = rank + i + round;
    MPI_Allreduce(in.data(), out.data(), count, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < count; ++i) wrong += out[i] != size * (size - 1) / 2 + size * (i + round);
  }
  return wrong;
}

// Threads that each have a communicator of their own and call at the same time.
int threads() {
  constexpr int count = 3;
  MPI_Comm comms[count];
  int wrong[count] = {};
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  std::vector<std::thread> running;
  for (int t = 0; t < count; ++t)
    running.emplace_back([&, t] {
      for (int n : {1, 100, 5000, 100000}) wrong[t] += sum_up(comms[t], n, 20);
    });
  for (std::thread& thread : running) thread.join();
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
  return wrong[0] + wrong[1] + wrong[2];
}

// Communicators of every kind.
int communicators() {
  int wrong = 0;
  MPI_Comm node, grid, group_comm;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  wrong += sum_up(node, 1000, 3);
  MPI_Comm_free(&node);
  const int periodic = 1;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &grid);
  wrong += sum_up(grid, 50000, 3);
  MPI_Comm_free(&grid);
  MPI_Group group;
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  MPI_Comm_create(MPI_COMM_WORLD, group, &group_comm);
  wrong += sum_up(group_comm, 1000, 3);
  MPI_Comm_free(&group_comm);
  MPI_Group_free(&group);
  if (size > 1) {  // an intercommunicator goes to the MPI, what is merged from it does not
    MPI_Comm half, inter, merged;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &inter);
    int mine = rank % 2 + 1, theirs = 0, there = 0;
    MPI_Allreduce(&mine, &theirs, 1, MPI_INT, MPI_SUM, inter);
    MPI_Comm_remote_size(inter, &there);
    wrong += theirs != (2 - rank % 2) * there;
    MPI_Intercomm_merge(inter, rank % 2, &merged);
    wrong += sum_up(merged, 1000, 3);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
  }
  return wrong;
}

// MPI_Alloc_mem, and freeing what it gave.
int memory() {
  int wrong = 0;
  for (int bytes : {8, 4096, 100000, 1 << 20}) {
    int *in = nullptr, *out = nullptr;
    MPI_Alloc_mem(bytes, MPI_INFO_NULL, &in);
    MPI_Alloc_mem(bytes, MPI_INFO_NULL, &out);
    const int count = bytes / static_cast<int>(sizeof(int));
    for (int i = 0; i < count; ++i) in[i] = rank + i;
    MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; ++i) wrong += out[i] != size * (size - 1) / 2 + size * i;
    MPI_Free_mem(in);
    MPI_Free_mem(out);
  }
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  int provided = 0;
  // Open MPI's Fortran starts and ends MPI past everyone who interposes in C.
  const bool unseen = what == "unseen";
  if (unseen)
    PMPI_Init(&argc, &argv);
  else
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int wrong = -1;
  if (unseen) wrong = sum_up(MPI_COMM_WORLD, 1, 50) + sum_up(MPI_COMM_WORLD, 50000, 50);
  if (what == "threads") wrong = provided == MPI_THREAD_MULTIPLE ? threads() : 0;
  if (what == "communicators") wrong = communicators();
  if (what == "memory") wrong = memory();
  PMPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0) std::printf("life: %d wrong\n", wrong);
  if (unseen)
    PMPI_Finalize();
  else
    MPI_Finalize();
  return wrong != 0;
}
