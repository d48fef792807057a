// SPDX-License-Identifier: BSD-3-Clause
// Unusual lives of a program: life WHAT. Prints "life: N wrong".
#include <cstring>
#include <random>
#include <string>
#include <thread>

#include "bare.h"
#include "every.h"

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

// Threads that each have a communicator of their own and call whatever comes, at the same time.
int threads() {
  constexpr int count = 4, most = 3000;
  MPI_Comm comms[count];
  int wrong[count] = {};
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  std::vector<std::thread> running;
  for (int t = 0; t < count; ++t)
    running.emplace_back([&, t] {
      Every every(comms[t], most);
      std::minstd_rand random(static_cast<unsigned>(t) + 1);  // the same on all ranks
      for (unsigned round = 0; round < 150; ++round) {
        const int kind = static_cast<int>(random() % Every::kinds);
        const int n = 1 + static_cast<int>(random() % (random() % 2 == 0 ? 20 : most));
        wrong[t] += every.run(kind, n, round);
      }
      wrong[t] += every.run(3, most, 1);
    });
  for (std::thread& thread : running) thread.join();
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
  return wrong[0] + wrong[1] + wrong[2] + wrong[3];
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

// A derived datatype of absolute addresses, which only some ranks use.
int bottom() {
  int few[5] = {}, many[1000] = {}, wrong = 0;
  const int lengths[] = {5, 1000};
  MPI_Aint places[2];
  MPI_Get_address(few, &places[0]);
  MPI_Get_address(many, &places[1]);
  MPI_Datatype both;
  MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &both);
  MPI_Type_commit(&both);
  for (int root = 0; root < size; ++root) {
    for (int& value : few) value = rank + 1;
    for (int& value : many) value = rank + 2;
    std::vector<int> plain(1005, rank + 1);
    if (rank % 2 == 0)
      MPI_Bcast(MPI_BOTTOM, 1, both, root, MPI_COMM_WORLD);
    else
      MPI_Bcast(plain.data(), 1005, MPI_INT, root, MPI_COMM_WORLD);
    for (int i = 0; i < 1005; ++i) {
      const int sent = root % 2 == 0 && i >= 5 ? root + 2 : root + 1;
      wrong += (rank % 2 != 0 ? plain[i] : i < 5 ? few[i] : many[i - 5]) != sent;
    }
  }
  MPI_Type_free(&both);
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  int provided = 0;
  const bool unseen = what == "unseen";
  if (unseen)
    start_unseen(&argc, &argv);
  else
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int wrong = -1;
  if (unseen) wrong = sum_up(MPI_COMM_WORLD, 1, 50) + sum_up(MPI_COMM_WORLD, 50000, 50);
  if (what == "threads") wrong = provided == MPI_THREAD_MULTIPLE ? threads() : 0;
  if (what == "communicators") wrong = communicators();
  if (what == "memory") wrong = memory();
  if (what == "bottom") wrong = bottom();
  BARE(Allreduce)(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0) std::printf("life: %d wrong\n", wrong);
  if (unseen)
    end_unseen();
  else
    MPI_Finalize();
  return wrong != 0;
}
