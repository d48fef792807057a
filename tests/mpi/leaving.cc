// SPDX-License-Identifier: BSD-3-Clause
// A communicator lives on after an error that the program handles: leaving ROUNDS. One call goes
// wrong, then others of all kinds must go well, on all ranks.
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

int rank = 0, size = 0, wrong = 0;

int class_of(int code) {
  int error_class = MPI_SUCCESS;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &error_class);
  return error_class;
}

void expect(bool right, const char* what, int kind, int value) {
  if (right) return;
  if (++wrong < 10) std::printf("rank %d, %s after kind %d: %d\n", rank, what, kind, value);
}

using Ints = std::vector<int>;

// Has at least `ranks` blocks of `each` in each buffer.
struct Buffers {
  explicit Buffers(int each) : out(each * size, rank + 1), in(each * size + 16, -1) {}
  Ints out, in;
};

constexpr int kinds = 9;

// With one rank that has less room than others send, or calls something else. What it returns.
int go_wrong(MPI_Comm comm, int kind, int few, int many) {
  Buffers b(2 * many);
  const bool short_of = rank == 0;
  const int here = short_of ? few : many;
  Ints counts(size, few), places(size);
  for (int i = 0; i < size; ++i) places[i] = i * many;
  switch (kind) {
    case 0:
      return MPI_Gather(b.out.data(), many, MPI_INT, b.in.data(), here, MPI_INT, 0, comm);
    case 1:
      return MPI_Gatherv(b.out.data(), many, MPI_INT, b.in.data(), counts.data(), places.data(),
                         MPI_INT, 0, comm);
    case 2:
      return MPI_Scatter(b.out.data(), many, MPI_INT, b.in.data(), here, MPI_INT, 1, comm);
    case 3:
      return MPI_Bcast(b.in.data(), here, MPI_INT, 1, comm);
    case 4:
      return MPI_Allgather(b.out.data(), here, MPI_INT, b.in.data(), here, MPI_INT, comm);
    case 5:
      return MPI_Alltoall(b.out.data(), here, MPI_INT, b.in.data(), here, MPI_INT, comm);
    case 6:
      return short_of ? MPI_Bcast(b.in.data(), few, MPI_INT, 0, comm) : MPI_Barrier(comm);
    case 7:
      return short_of ? MPI_Barrier(comm)
                      : MPI_Allreduce(b.out.data(), b.in.data(), many, MPI_INT, MPI_SUM, comm);
    default:
      return MPI_Allreduce(b.out.data(), b.in.data(), many, MPI_INT, short_of ? MPI_MAX : MPI_SUM,
                           comm);
  }
}

void go_well(MPI_Comm comm, int kind, int each) {
  const auto right = [&](const char* what, int code, const Ints& got, auto wanted) {
    expect(code == MPI_SUCCESS, what, kind, class_of(code));
    int bad = 0;
    for (int i = 0; i < each * size; ++i) bad += got[i] != wanted(i / each, i % each);
    expect(bad == 0, what, kind, bad);
  };
  const int all = size * (size + 1) / 2;
  Buffers b(each);
  int code = MPI_Allreduce(b.out.data(), b.in.data(), each * size, MPI_INT, MPI_SUM, comm);
  right("Allreduce", code, b.in, [&](int, int) { return all; });
  code = MPI_Barrier(comm);
  expect(code == MPI_SUCCESS, "Barrier", kind, class_of(code));
  const int root = size - 1;
  b = Buffers(each);
  if (rank == root) b.in.assign(b.in.size(), 17);
  code = MPI_Bcast(b.in.data(), each * size, MPI_INT, root, comm);
  right("Bcast", code, b.in, [&](int, int) { return 17; });
  b = Buffers(each);
  code = MPI_Allgather(b.out.data(), each, MPI_INT, b.in.data(), each, MPI_INT, comm);
  right("Allgather", code, b.in, [&](int q, int) { return q + 1; });
  b = Buffers(each);
  code = MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, b.out.data(), each, MPI_INT, comm);
  right("Alltoall", code, b.out, [&](int q, int) { return q + 1; });
  b = Buffers(each);
  code = MPI_Gather(b.out.data(), each, MPI_INT, b.in.data(), each, MPI_INT, root, comm);
  right("Gather", code, b.in, [&](int q, int) { return rank == root ? q + 1 : -1; });
  b = Buffers(each);
  code = MPI_Allreduce(MPI_IN_PLACE, b.out.data(), each * size, MPI_INT, MPI_SUM, comm);
  right("Allreduce", code, b.out, [&](int, int) { return all; });
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 1;
  constexpr struct {
    int few, many;
  } lengths[] = {{1, 10}, {10, 1000}, {3000, 20'000}};
  srand(rank + 1);
  for (int round = 0; round < rounds; ++round)
    for (int kind = 0; kind < kinds; ++kind)
      for (const auto& [few, many] : lengths) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        go_well(comm, kind, 100);
        if (rand() % 2 == 0) usleep(rand() % 1000);
        const int code = class_of(go_wrong(comm, kind, few, many));
        // Who has too little room is told; who only sends has done so.
        if (rank == 0 && kind < 6) expect(code == MPI_ERR_TRUNCATE, "room", kind, code);
        if (rank != 0 && kind < 2) expect(code == MPI_SUCCESS, "sending", kind, code);
        if (rank == 1 && kind == 3) expect(code == MPI_SUCCESS, "sending", kind, code);
        if (rand() % 2 == 0) usleep(rand() % 1000);
        for (const int each : {1, 5000}) go_well(comm, kind, each);
        MPI_Comm_free(&comm);
      }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) std::printf("leaving: %d wrong\n", wrong);
  MPI_Finalize();
  return wrong != 0;
}
