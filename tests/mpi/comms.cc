// SPDX-License-Identifier: BSD-3-Clause
// Communicators of every origin, and all collectives on them: comms WHAT. Prints "comms: N wrong".
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>

#include "bare.h"
#include "every.h"

namespace {

int rank = 0, size = 0;

int plain() {
  MPI_Comm comm;
  MPI_Info info;
  MPI_Group world, evens;
  int wrong = try_out(MPI_COMM_SELF);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  wrong += try_and_free(comm);
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
  wrong += try_and_free(comm);
  MPI_Info_free(&info);
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, -rank, &comm);
  wrong += try_and_free(comm);
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 1, rank, &comm);
  wrong += try_and_free(comm);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &comm);
  wrong += try_and_free(comm);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  int range[1][3] = {{0, size - 1, 2}};
  MPI_Group_range_incl(world, 1, range, &evens);
  MPI_Comm_create(MPI_COMM_WORLD, evens, &comm);
  wrong += try_and_free(comm);
  if (rank % 2 == 0) {
    MPI_Comm_create_group(MPI_COMM_WORLD, evens, 5, &comm);
    wrong += try_and_free(comm);
  }
  MPI_Comm_create_group(MPI_COMM_WORLD, world, 6, &comm);
  wrong += try_out(comm);
  MPI_Comm_disconnect(&comm);
  MPI_Group_free(&evens);
  MPI_Group_free(&world);
  return wrong;
}

int topologies() {
  MPI_Comm comm, row;
  int wrong = 0;
  const int sides[] = {size, 1}, periods[] = {1, 0}, keep[] = {1, 0};
  MPI_Cart_create(MPI_COMM_WORLD, 2, sides, periods, 1, &comm);
  MPI_Cart_sub(comm, keep, &row);
  wrong += try_and_free(row) + try_and_free(comm);
  std::vector<int> index, edges;
  for (int i = 0; i < size; ++i) {  // a ring
    edges.push_back((i + size - 1) % size);
    edges.push_back((i + 1) % size);
    index.push_back(2 * (i + 1));
  }
  MPI_Graph_create(MPI_COMM_WORLD, size, index.data(), edges.data(), 0, &comm);
  wrong += try_and_free(comm);
  const int left = (rank + size - 1) % size, right = (rank + 1) % size, two = 1;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, MPI_UNWEIGHTED, 1, &right,
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
  wrong += try_and_free(comm);
  MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &two, &right, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                        &comm);
  return wrong + try_and_free(comm);
}

int merged() {
  MPI_Comm half, inter, all;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &inter);
  MPI_Barrier(inter);
  MPI_Intercomm_merge(inter, rank % 2, &all);
  const int wrong = try_and_free(all);
  MPI_Comm_disconnect(&inter);
  return wrong + try_and_free(half);
}

int g_copied = 0, g_deleted = 0;
bool g_frees_at_once = true;
int on_copy(MPI_Comm, int, void*, void* in, void* out, int* flag) {
  ++g_copied;
  *static_cast<void**>(out) = in;
  *flag = 1;
  return MPI_SUCCESS;
}
// A callback may call collectives itself, if the MPI calls it on all ranks together.
int on_delete(MPI_Comm comm, int, void*, void*) {
  ++g_deleted;
  if (!g_frees_at_once) return MPI_SUCCESS;
  int one = 1, sum = 0, members = 0;
  MPI_Comm_size(comm, &members);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
  return sum == members ? MPI_SUCCESS : MPI_ERR_OTHER;
}

// Attributes are the program's, not only Tutti's, in any order with its own.
int attributes() {
  int keyval = 0, wrong = 0, found = 0;
  void* value = nullptr;
  MPI_Comm_create_keyval(on_copy, on_delete, &keyval, nullptr);
  for (const bool before : {false, true}) {
    MPI_Comm comm, copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (before) wrong += try_out(comm);
    MPI_Comm_set_attr(comm, keyval, &rank);
    MPI_Comm_dup(comm, &copy);
    MPI_Comm_get_attr(copy, keyval, &value, &found);
    wrong += !found || value != &rank;
    wrong += try_and_free(comm) + try_and_free(copy);
  }
  MPI_Comm_free_keyval(&keyval);
  return wrong + (g_copied != 2) + (g_frees_at_once && g_deleted != 4);
}

// What is resident of the memory that ranks share.
long shared_kib() {
  std::ifstream status("/proc/self/status");
  std::string word;
  long kib = 0;
  while (status >> word)
    if (word == "RssShmem:") status >> kib;
  return kib;
}

// A communicator that is freed has an attribute whose function calls a collective, after Tutti's
// own is gone. One that is made next, by some of its ranks alone, may have the same handle.
int freed() {
  int keyval = 0, wrong = 0;
  MPI_Comm_create_keyval(on_copy, on_delete, &keyval, nullptr);
  MPI_Comm first;
  MPI_Comm_dup(MPI_COMM_WORLD, &first);
  MPI_Comm_set_attr(first, keyval, &rank);
  MPI_Group all, some;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  int even[] = {0, size - 1, 2};
  MPI_Group_range_incl(all, 1, &even, &some);
  long before_kib = 0;
  for (int round = 0; round < 600; ++round) {
    if (round == 100) before_kib = shared_kib();
    MPI_Comm copy, part;
    MPI_Comm_dup(first, &copy);
    wrong += MPI_Comm_free(&copy) != MPI_SUCCESS;
    if (rank % 2 != 0) continue;
    MPI_Comm_create_group(MPI_COMM_WORLD, some, 5, &part);
    wrong += try_and_free(part);
  }
  wrong += shared_kib() - before_kib > 1024;  // of each that is kept some pages stay
  MPI_Group_free(&some);
  MPI_Group_free(&all);
  wrong += try_and_free(first);
  MPI_Comm_free_keyval(&keyval);
  return wrong;
}

// A communicator is freed while the MPI works on it and on others.
int pending() {
  int wrong = 0;
  for (int round = 0; round < 50; ++round) {
    MPI_Comm busy, other;
    MPI_Comm_dup(MPI_COMM_WORLD, &busy);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    std::vector<int> mine(5000, rank + round), sums(5000);
    MPI_Request request;
    MPI_Barrier(busy);
    MPI_Iallreduce(mine.data(), sums.data(), 5000, MPI_INT, MPI_SUM, busy, &request);
    Every every(other, 1000);
    wrong += every.all(1000, static_cast<unsigned>(round));
    MPI_Comm_free(&busy);
    MPI_Comm_free(&other);
    wrong += Every(MPI_COMM_WORLD, 10).all(10, static_cast<unsigned>(round));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (const int sum : sums) wrong += sum != size * (size - 1) / 2 + size * round;
  }
  return wrong;
}

// Children, and a communicator of both; its collectives are the MPI's, as nobody can tell whether
// the children have Tutti.
int spawned(char* program) {
  MPI_Comm children, all;
  char child[] = "child", *arguments[] = {child, nullptr};
  MPI_Comm_spawn(program, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                 MPI_ERRCODES_IGNORE);
  MPI_Intercomm_merge(children, 0, &all);
  int wrong = Every(all, 1000).all(1000, 5);
  MPI_Comm_free(&all);
  MPI_Comm_disconnect(&children);
  return wrong + try_out(MPI_COMM_WORLD);
}
int child() {
  MPI_Comm parent, all;
  MPI_Comm_get_parent(&parent);
  MPI_Intercomm_merge(parent, 1, &all);
  int wrong = Every(all, 1000).all(1000, 5);
  MPI_Comm_free(&all);
  MPI_Comm_disconnect(&parent);
  // What it reports is to come after what its parents do.
  const char* const report = std::getenv("TUTTI_REPORT");
  for (int i = 0; i < 100 && report != nullptr && access(report, F_OK) != 0; ++i) usleep(50'000);
  return wrong + Every(MPI_COMM_WORLD, 100).all(100, 1);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  int wrong = -1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (what == "plain") wrong = plain();
  if (what == "topologies") wrong = topologies();
  if (what == "merged") wrong = merged();
  g_frees_at_once = argc == 2;
  if (what == "attributes") wrong = attributes();
  if (what == "freed") wrong = freed();
  if (what == "pending") wrong = pending();
  if (what == "spawned") wrong = spawned(argv[0]);
  if (what == "child") wrong = child();
  BARE(Allreduce)(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0 && what != "child") std::printf("comms: %d wrong\n", wrong);
  MPI_Finalize();
  return wrong != 0;
}
