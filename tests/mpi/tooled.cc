// SPDX-License-Identifier: BSD-3-Clause
// Calls of every family that Tutti takes the place of, and of some that it does not, each a number
// of times that depends on nothing: what a tool counts must be the same in every run.
//
//   tooled [OBJECT local|global]: opens a tool first, as a plugin
#include <dlfcn.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "bare.h"
#include "every.h"

namespace {

int rank = 0, size = 1;
int wrong = 0;

// --- every collective, nonblocking, completed in every way
void started(MPI_Comm comm) {
  constexpr int n = 17;
  std::vector<int> out(n * 8 * size, rank + 1), in(n * 8 * size, -1);
  std::vector<int> ones(size, 1), places(size), bytes(size);
  for (int i = 0; i < size; ++i) bytes[i] = 4 * (places[i] = i);
  const std::vector<MPI_Datatype> types(size, MPI_INT);
  const int *c = ones.data(), *p = places.data(), *b = bytes.data();
  const MPI_Datatype t = MPI_INT;
  MPI_Request r[n];
  const auto o = [&](int k) { return out.data() + k * 8 * size; };
  const auto i = [&](int k) { return in.data() + k * 8 * size; };
  MPI_Ibarrier(comm, &r[0]);
  MPI_Ibcast(o(1), 1, t, 0, comm, &r[1]);
  MPI_Ireduce(o(2), i(2), 1, t, MPI_SUM, 0, comm, &r[2]);
  MPI_Iallreduce(o(3), i(3), 1, t, MPI_SUM, comm, &r[3]);
  MPI_Igather(o(4), 1, t, i(4), 1, t, 0, comm, &r[4]);
  MPI_Igatherv(o(5), 1, t, i(5), c, p, t, 0, comm, &r[5]);
  MPI_Iscatter(o(6), 1, t, i(6), 1, t, 0, comm, &r[6]);
  MPI_Iscatterv(o(7), c, p, t, i(7), 1, t, 0, comm, &r[7]);
  MPI_Iallgather(o(8), 1, t, i(8), 1, t, comm, &r[8]);
  MPI_Iallgatherv(o(9), 1, t, i(9), c, p, t, comm, &r[9]);
  MPI_Ialltoall(o(10), 1, t, i(10), 1, t, comm, &r[10]);
  MPI_Ialltoallv(o(11), c, p, t, i(11), c, p, t, comm, &r[11]);
  MPI_Ialltoallw(o(12), c, b, types.data(), i(12), c, b, types.data(), comm, &r[12]);
  MPI_Ireduce_scatter(o(13), i(13), c, t, MPI_SUM, comm, &r[13]);
  MPI_Ireduce_scatter_block(o(14), i(14), 1, t, MPI_SUM, comm, &r[14]);
  MPI_Iscan(o(15), i(15), 1, t, MPI_SUM, comm, &r[15]);
  MPI_Iexscan(o(16), i(16), 1, t, MPI_SUM, comm, &r[16]);
  int flag = 0, index = 0, done = 0, indices[n];
  MPI_Status status, statuses[n];
  MPI_Test(&r[0], &flag, &status);
  MPI_Testall(n, r, &flag, statuses);
  MPI_Testany(n, r, &index, &flag, &status);
  MPI_Testsome(n, r, &done, indices, statuses);
  MPI_Request_get_status(r[3], &flag, &status);
  MPI_Waitany(n, r, &index, &status);
  MPI_Waitsome(n, r, &done, indices, statuses);
  MPI_Wait(&r[1], &status);
  MPI_Waitall(n, r, statuses);
  int sum = 0;
  for (int each = 1; each <= size; ++each) sum += each;
  wrong += in[3 * 8 * size] != sum;
  for (int each = 0; each < size; ++each) wrong += in[8 * 8 * size + each] != each + 1;
}

// --- the large forms, which not every MPI has
void large(MPI_Comm comm) {
#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
  int one = 1, sum = 0;
  std::vector<int> out(size, rank), in(size, -1);
  const std::vector<MPI_Count> counts(size, 1);
  std::vector<MPI_Aint> places(size);
  for (int i = 0; i < size; ++i) places[i] = i;
  MPI_Allreduce_c(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
  wrong += sum != size;
  MPI_Alltoallv_c(out.data(), counts.data(), places.data(), MPI_INT, in.data(), counts.data(),
                  places.data(), MPI_INT, comm);
  MPI_Request request;
  MPI_Ibcast_c(&one, 1, MPI_INT, 0, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < size; ++i) wrong += in[i] != i;
#else
  (void)comm;
#endif
}

// --- what makes communicators; each is used
void use(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) return;
  int one = 1, sum = 0, members = 0;
  MPI_Comm_size(comm, &members);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
  wrong += sum != members;
  MPI_Comm_free(&comm);
}
void communicators() {
  const MPI_Comm world = MPI_COMM_WORLD;
  const int dimensions[1] = {size}, periods[1] = {0}, yes[1] = {1};
  MPI_Comm made, grid;
  MPI_Group group;
  MPI_Comm_group(world, &group);
  MPI_Comm_dup(world, &made), use(made);
  MPI_Comm_dup_with_info(world, MPI_INFO_NULL, &made), use(made);
  MPI_Comm_split(world, 0, rank, &made), use(made);
  MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made), use(made);
  MPI_Comm_create(world, group, &made), use(made);
  MPI_Comm_create_group(world, group, 1, &made), use(made);
  MPI_Cart_create(world, 1, dimensions, periods, 0, &grid);
  MPI_Cart_sub(grid, yes, &made), use(made), use(grid);
  std::vector<int> index(size), edges(size), one(size, 1);
  for (int i = 0; i < size; ++i) index[i] = i + 1, edges[i] = (i + 1) % size;
  MPI_Graph_create(world, size, index.data(), edges.data(), 0, &made), use(made);
  const int degree = 1, to = (rank + 1) % size, from = (rank + size - 1) % size;
  MPI_Dist_graph_create(world, 1, &rank, &degree, &to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made);
  use(made);
  MPI_Dist_graph_create_adjacent(world, 1, &from, MPI_UNWEIGHTED, 1, &to, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &made);
  int nothing = rank, got = -1;
  MPI_Neighbor_allgather(&nothing, 1, MPI_INT, &got, 1, MPI_INT, made);
  wrong += got != from;
  use(made);
  MPI_Comm half, between;
  MPI_Comm_split(world, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, world, 1 - rank % 2, 7, &between);
  MPI_Barrier(between);  // the MPI's
  MPI_Intercomm_merge(between, rank % 2, &made), use(made);
  MPI_Comm_free(&between);
  MPI_Comm_free(&half);
  MPI_Group_free(&group);
}

// --- memory, windows, messages, a file, an operation of the program's own
void add(void* in, void* inout, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}
void others() {
  void* block = nullptr;
  MPI_Alloc_mem(1 << 16, MPI_INFO_NULL, &block);
  std::memset(block, rank, 1 << 16);
  MPI_Win window;
  MPI_Win_create(block, 1 << 16, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_fence(0, window);
  MPI_Win_fence(0, window);
  int flag = 0;
  MPI_Win_post(MPI_GROUP_EMPTY, 0, window);
  MPI_Win_test(window, &flag);
  wrong += flag != 1;
  MPI_Win_free(&window);
  MPI_Free_mem(block);

  const int peer = rank ^ 1;
  int mine = rank, theirs = -1;
  MPI_Request two[2];
  MPI_Isend(&mine, 1, MPI_INT, peer, 3, MPI_COMM_WORLD, &two[0]);
  MPI_Irecv(&theirs, 1, MPI_INT, peer, 3, MPI_COMM_WORLD, &two[1]);
  MPI_Waitall(2, two, MPI_STATUSES_IGNORE);
  wrong += theirs != peer;
  MPI_Sendrecv(&mine, 1, MPI_INT, peer, 4, &theirs, 1, MPI_INT, peer, 4, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Send_init(&mine, 1, MPI_INT, peer, 5, MPI_COMM_WORLD, &two[0]);
  MPI_Recv_init(&theirs, 1, MPI_INT, peer, 5, MPI_COMM_WORLD, &two[1]);
  MPI_Startall(2, two);
  MPI_Wait(&two[0], MPI_STATUS_IGNORE);
  MPI_Wait(&two[1], MPI_STATUS_IGNORE);
  MPI_Request_free(&two[0]);
  MPI_Request_free(&two[1]);

  MPI_Op op;
  MPI_Op_create(add, 1, &op);
  int sum = 0, one = 1;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, op, MPI_COMM_WORLD);  // the MPI's
  wrong += sum != size;
  MPI_Op_free(&op);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);  // the MPI's
  MPI_Pcontrol(1);
  wrong += MPI_Wtime() <= 0;

  std::string name = "tooled." + std::to_string(getpid());  // rank 0's
  name.resize(32, '\0');
  MPI_Bcast(name.data(), 32, MPI_CHAR, 0, MPI_COMM_WORLD);
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, name.c_str(),
                MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
  MPI_File_write_at_all(file, 4 * rank, &mine, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_close(&file);

  // No tool sees what the program hides from it.
  PMPI_Bcast(&one, 1, MPI_INT, 0, MPI_COMM_WORLD);
  PMPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  wrong += sum != size;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3) {
    const int how = std::string(argv[2]) == "global" ? RTLD_GLOBAL : RTLD_LOCAL;
    if (dlopen(argv[1], RTLD_LAZY | how) == nullptr) std::puts(dlerror());
  }
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  Every every(MPI_COMM_WORLD, 5000);
  wrong += every.all(1, 1) + every.all(5000, 2);
  started(MPI_COMM_WORLD);
  large(MPI_COMM_WORLD);
  communicators();
  others();
  BARE(Allreduce)(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0) std::printf("tooled: %d wrong\n", wrong);
  MPI_Finalize();
  return wrong != 0;
}
