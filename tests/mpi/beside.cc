// SPDX-License-Identifier: BSD-3-Clause
// What is not Tutti's, between collectives that are: neighbours, persistent, nonblocking and
// partitioned operations, windows and files. Prints "beside: N wrong". Arguments are names of the
// parts to run; without any, all of them.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "bare.h"
#include "every.h"

namespace {

constexpr int n = 5000;
int rank = 0, size = 0;

// Collectives that Tutti takes, in between.
int ours(unsigned seed) {
  static Every every(MPI_COMM_WORLD, n);
  return every.run(static_cast<int>(seed % Every::kinds), 1 + static_cast<int>(seed * 37 % n),
                   seed);
}
int unlike(const std::vector<int>& values, int expected) {
  int wrong = 0;
  for (const int value : values) wrong += value != expected;
  return wrong;
}

int neighbours() {
  MPI_Comm ring;
  const int periodic = 1;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
  std::vector<int> mine(2 * n, rank), theirs(2 * n), counts(2, n), places = {0, n};
  int wrong = 0;
  for (unsigned round = 0; round < 20; ++round) {
    const int add = static_cast<int>(round);
    for (int& value : mine) value = rank + add;
    MPI_Neighbor_allgather(mine.data(), n, MPI_INT, theirs.data(), n, MPI_INT, ring);
    wrong += ours(round);
    for (int i = 0; i < n; ++i) wrong += theirs[i] != (rank + size - 1) % size + add;
    MPI_Request request;
    MPI_Ineighbor_alltoallv(mine.data(), counts.data(), places.data(), MPI_INT, theirs.data(),
                            counts.data(), places.data(), MPI_INT, ring, &request);
    wrong += ours(round + 7);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < n; ++i) wrong += theirs[n + i] != (rank + 1) % size + add;
  }
  MPI_Comm_free(&ring);
  return wrong;
}

// Several at a time, with Tutti's on the same communicator before they are waited for.
int nonblocking() {
  int wrong = 0;
  std::vector<int> mine(n), sums(n), sent(n), all(static_cast<std::size_t>(n * size));
  for (unsigned round = 0; round < 30; ++round) {
    const int add = static_cast<int>(round);
    for (int& value : mine) value = rank + add;
    for (int& value : sent) value = rank == 0 ? add : -1;
    MPI_Request requests[4];
    MPI_Iallreduce(mine.data(), sums.data(), n, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
    MPI_Ibcast(sent.data(), n, MPI_INT, 0, MPI_COMM_WORLD, &requests[1]);
    wrong += ours(round);
    MPI_Iallgather(mine.data(), n, MPI_INT, all.data(), n, MPI_INT, MPI_COMM_WORLD, &requests[2]);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[3]);
    wrong += ours(round + 3);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    wrong += unlike(sums, size * (size - 1) / 2 + size * add) + unlike(sent, add);
    for (int i = 0; i < n * size; ++i) wrong += all[i] != i / n + add;
  }
  return wrong;
}

// Messages that are under way while their receiver is in a collective.
int messages() {
  int wrong = 0;
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  std::vector<int> mine(100 * n), theirs(100 * n);
  for (unsigned round = 0; round < 10; ++round) {
    const int add = static_cast<int>(round);
    for (int& value : mine) value = rank + add;
    MPI_Request requests[2];
    MPI_Irecv(theirs.data(), 100 * n, MPI_INT, left, 4, MPI_COMM_WORLD, &requests[0]);
    wrong += ours(round);
    MPI_Isend(mine.data(), 100 * n, MPI_INT, right, 4, MPI_COMM_WORLD, &requests[1]);
    wrong += ours(round + 5);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    wrong += unlike(theirs, left + add);
  }
  return wrong;
}

#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
int persistent() {
  int wrong = 0;
  std::vector<int> mine(n), sums(n), sent(n);
  MPI_Request requests[2];
  MPI_Allreduce_init(mine.data(), sums.data(), n, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                     &requests[0]);
  MPI_Bcast_init(sent.data(), n, MPI_INT, size - 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
  for (unsigned round = 0; round < 20; ++round) {
    const int add = static_cast<int>(round);
    for (int& value : mine) value = rank + add;
    for (int& value : sent) value = rank == size - 1 ? add : -1;
    MPI_Startall(2, requests);
    wrong += ours(round);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    wrong += unlike(sums, size * (size - 1) / 2 + size * add) + unlike(sent, add);
  }
  for (MPI_Request& request : requests) MPI_Request_free(&request);
  return wrong;
}

// Open MPI 5 hangs in most runs where requests of several partitions are started again, without
// Tutti too (open-mpi/ompi#12969). Each round has requests of its own there.
#ifdef OPEN_MPI
constexpr bool restart_hangs = true;
#else
constexpr bool restart_hangs = false;
#endif

int partitioned() {
  int wrong = 0;
  constexpr int parts = 8;
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  std::vector<int> mine(parts * n), theirs(parts * n);
  MPI_Request requests[2];
  const auto make = [&] {
    MPI_Psend_init(mine.data(), parts, n, MPI_INT, right, 3, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &requests[0]);
    MPI_Precv_init(theirs.data(), parts, n, MPI_INT, left, 3, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &requests[1]);
  };
  const auto release = [&] {
    for (MPI_Request& request : requests) MPI_Request_free(&request);
  };
  make();
  for (unsigned round = 0; round < 5; ++round) {
    const int add = static_cast<int>(round);
    MPI_Startall(2, requests);
    for (int part = 0; part < parts; ++part) {
      for (int i = 0; i < n; ++i) mine[part * n + i] = rank + add;
      MPI_Pready(part, requests[0]);
      if (part == parts / 2) wrong += ours(round);
    }
    wrong += ours(round + 9);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    wrong += unlike(theirs, left + add);
    if (restart_hangs) {
      release();
      make();
    }
  }
  release();
  return wrong;
}
#else
int persistent() { return 0; }
int partitioned() { return 0; }
#endif

// Puts and gets to memory from MPI_Alloc_mem, which is Tutti's, and to the MPI's own.
int windows() {
  int wrong = 0;
  for (const bool allocated : {false, true}) {
    int* base = nullptr;
    MPI_Win window;
    const MPI_Aint bytes = n * sizeof(int);
    if (allocated) {
      MPI_Win_allocate(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
    } else {
      MPI_Alloc_mem(bytes, MPI_INFO_NULL, &base);
      MPI_Win_create(base, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    }
    const std::vector<int> mine(n, rank + 1);
    const int right = (rank + 1) % size, left = (rank + size - 1) % size;
    for (unsigned round = 0; round < 10; ++round) {
      MPI_Win_fence(0, window);
      MPI_Put(mine.data(), n, MPI_INT, right, 0, n, MPI_INT, window);
      wrong += ours(round);
      MPI_Win_fence(0, window);
      for (int i = 0; i < n; ++i) wrong += base[i] != left + 1;
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Win_lock(MPI_LOCK_SHARED, right, 0, window);
      MPI_Accumulate(mine.data(), n, MPI_INT, right, 0, n, MPI_INT, MPI_SUM, window);
      MPI_Win_unlock(right, window);
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
      for (int i = 0; i < n; ++i) wrong += base[i] != 2 * (left + 1);
      MPI_Win_unlock(rank, window);
    }
    MPI_Win_free(&window);
    if (!allocated) MPI_Free_mem(base);
  }
  return wrong;
}

int files() {
  char name[64] = "";
  if (rank == 0) {
    std::strcpy(name, "/tmp/tutti-beside-XXXXXX");
    close(mkstemp(name));
  }
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE,
                MPI_INFO_NULL, &file);
  std::vector<int> mine(n, rank), theirs(n);
  const auto place = [](int of) { return static_cast<MPI_Offset>(of) * n * 4; };
  int wrong = 0;
  MPI_File_write_at_all(file, place(rank), mine.data(), n, MPI_INT, MPI_STATUS_IGNORE);
  wrong += ours(3);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_sync(file);
  MPI_File_read_at_all(file, place((rank + 1) % size), theirs.data(), n, MPI_INT,
                       MPI_STATUS_IGNORE);
  wrong += unlike(theirs, (rank + 1) % size) + ours(8);
  MPI_File_close(&file);
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const std::pair<const char*, int (*)()> parts[] = {{"neighbours", neighbours},
                                                     {"nonblocking", nonblocking},
                                                     {"messages", messages},
                                                     {"persistent", persistent},
                                                     {"partitioned", partitioned},
                                                     {"windows", windows},
                                                     {"files", files}};
  int total = 0;
  for (const auto& [name, part] : parts) {
    const bool wanted = std::find(argv + 1, argv + argc, std::string_view(name)) != argv + argc;
    if (argc > 1 && !wanted) continue;
    int wrong = part();
    BARE(Allreduce)(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) std::printf("%s %d\n", name, wrong);
    total += wrong;
  }
  if (rank == 0) std::printf("beside: %d wrong\n", total);
  MPI_Finalize();
  return total != 0;
}
