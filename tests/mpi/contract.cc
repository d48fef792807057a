// SPDX-License-Identifier: BSD-3-Clause
// What a program's memory is at some moments of its life, to compare with the bare MPI's. Each rank
// prints a line for each: its resident memory, the highest so far, and its share of what is mapped
// (Pss), in KiB.
#include <mpi.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "proc.h"

namespace {

int rank = 0, size = 0;

void say(const char* moment) {
  MPI_Barrier(MPI_COMM_WORLD);
  const long resident = proc_kib("/proc/self/status", "VmRSS:"),
             peak = proc_kib("/proc/self/status", "VmHWM:"),
             share = proc_kib("/proc/self/smaps_rollup", "Pss:");
  std::printf("contract: %s rank %d resident %ld peak %ld share %ld\n", moment, rank, resident,
              peak, share);
  std::fflush(stdout);
  MPI_Barrier(MPI_COMM_WORLD);
}

// Tutti looks after what is free when it is called, once in a second.
void go_on(double seconds) {
  using std::chrono::steady_clock;
  const auto begin = steady_clock::now();
  int on = 1, all = 1;
  while (all) {
    usleep(1000);
    on = std::chrono::duration<double>(steady_clock::now() - begin).count() < seconds;
    MPI_Allreduce(&on, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  }
}

constexpr std::size_t bytes = std::size_t{64} << 20, numbers = bytes / sizeof(double);

void collectives(double* a, double* b, MPI_Comm comm) {
  const int all = static_cast<int>(numbers), each = all / size;
  MPI_Allreduce(a, b, all, MPI_DOUBLE, MPI_SUM, comm);
  for (int root = 0; root < size; ++root) MPI_Bcast(a, all, MPI_DOUBLE, root, comm);
  MPI_Alltoall(a, each, MPI_DOUBLE, b, each, MPI_DOUBLE, comm);
  MPI_Allgather(a, each, MPI_DOUBLE, b, each, MPI_DOUBLE, comm);
  MPI_Reduce_scatter_block(a, b, each, MPI_DOUBLE, MPI_SUM, comm);
  MPI_Scan(a, b, all, MPI_DOUBLE, MPI_SUM, comm);
  MPI_Request request;
  MPI_Iallreduce(a, b, all, MPI_DOUBLE, MPI_SUM, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

// The columns of a matrix, on a communicator of its own each time.
void columns(double* a, double* b) {
  const int rows = 2048, columns = static_cast<int>(numbers) / rows;
  MPI_Datatype strip, type;
  MPI_Type_vector(rows, columns / size, columns, MPI_DOUBLE, &strip);
  MPI_Type_create_resized(strip, 0, static_cast<MPI_Aint>(columns / size) * 8, &type);
  MPI_Type_commit(&type);
  for (int i = 0; i < 5; ++i) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Alltoall(a, 1, type, b, 1, type, comm);
    MPI_Comm_free(&comm);
  }
  MPI_Type_free(&strip);
  MPI_Type_free(&type);
}

// Vectors come and go, and are never all there.
void temporaries() {
  for (int i = 0; i < 200; ++i) {
    const std::size_t n = (std::size_t{1} << 20) + static_cast<std::size_t>(i % 7) * 300'000;
    std::vector<double> one(n / 4, 1), other(n / 8, 2);
    MPI_Allreduce(MPI_IN_PLACE, one.data(), 1000, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  double mine = 1, sum = 0;
  for (int i = 0; i < 100; ++i) MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  say("tiny");
  auto* a = static_cast<double*>(std::malloc(bytes));
  auto* b = static_cast<double*>(std::malloc(bytes));
  for (std::size_t i = 0; i < numbers; ++i) a[i] = b[i] = 1;
  say("arrays");
  collectives(a, b, MPI_COMM_WORLD);
  say("collectives");
  columns(a, b);
  say("columns");
  std::free(a);
  std::free(b);
  temporaries();
  say("temporaries");
  go_on(2.5);
  say("freed");
  MPI_Finalize();
  return 0;
}
