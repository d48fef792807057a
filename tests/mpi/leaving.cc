// SPDX-License-Identifier: BSD-3-Clause
// A communicator lives on after an error that the program handles: leaving ROUNDS [started]. One
// call goes wrong, then others of all kinds, blocking and nonblocking, must go well, on all ranks.
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

int rank = 0, size = 0, wrong = 0;
bool nonblocking = false;  // the one that goes wrong

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

// What MPI_X, or MPI_IX and MPI_Wait, return.
template <class Blocking, class Starting>
int call(bool starts, Blocking blocking, Starting starting) {
  if (!starts) return blocking();
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = starting(&request);
  const int waited = MPI_Wait(&request, MPI_STATUS_IGNORE);
  return code != MPI_SUCCESS ? code : waited;
}
#define CALL(starts, Name, name, ...)                  \
  call(                                                \
      starts, [&] { return MPI_##Name(__VA_ARGS__); }, \
      [&](MPI_Request* request) { return MPI_I##name(__VA_ARGS__, request); })

// With one rank that has less room than others send, or calls something else. What it returns.
int go_wrong(MPI_Comm comm, int kind, int few, int many) {
  Buffers b(2 * many);
  const bool short_of = rank == 0, starts = nonblocking;
  const int here = short_of ? few : many;
  Ints counts(size, few), places(size);
  for (int i = 0; i < size; ++i) places[i] = i * many;
  int* const out = b.out.data();
  int* const in = b.in.data();
  switch (kind) {
    case 0:
      return CALL(starts, Gather, gather, out, many, MPI_INT, in, here, MPI_INT, 0, comm);
    case 1:
      return CALL(starts, Gatherv, gatherv, out, many, MPI_INT, in, counts.data(), places.data(),
                  MPI_INT, 0, comm);
    case 2:
      return CALL(starts, Scatter, scatter, out, many, MPI_INT, in, here, MPI_INT, 1, comm);
    case 3:
      return CALL(starts, Bcast, bcast, in, here, MPI_INT, 1, comm);
    case 4:
      return CALL(starts, Allgather, allgather, out, here, MPI_INT, in, here, MPI_INT, comm);
    case 5:
      return CALL(starts, Alltoall, alltoall, out, here, MPI_INT, in, here, MPI_INT, comm);
    case 6:
      return short_of ? CALL(starts, Bcast, bcast, in, few, MPI_INT, 0, comm)
                      : CALL(starts, Barrier, barrier, comm);
    case 7:
      return short_of ? CALL(starts, Barrier, barrier, comm)
                      : CALL(starts, Allreduce, allreduce, out, in, many, MPI_INT, MPI_SUM, comm);
    default:
      return CALL(starts, Allreduce, allreduce, out, in, many, MPI_INT,
                  short_of ? MPI_MAX : MPI_SUM, comm);
  }
}

void go_well(MPI_Comm comm, int kind, int each, bool starts) {
  const auto right = [&](const char* what, int code, const Ints& got, auto wanted) {
    expect(code == MPI_SUCCESS, what, kind, class_of(code));
    int bad = 0;
    for (int i = 0; i < each * size; ++i) bad += got[i] != wanted(i / each, i % each);
    expect(bad == 0, what, kind, bad);
  };
  const int all = size * (size + 1) / 2, root = size - 1;
  Buffers b(each);
  int code = CALL(starts, Allreduce, allreduce, b.out.data(), b.in.data(), each * size, MPI_INT,
                  MPI_SUM, comm);
  right("Allreduce", code, b.in, [&](int, int) { return all; });
  code = CALL(starts, Barrier, barrier, comm);
  expect(code == MPI_SUCCESS, "Barrier", kind, class_of(code));
  b = Buffers(each);
  if (rank == root) b.in.assign(b.in.size(), 17);
  code = CALL(starts, Bcast, bcast, b.in.data(), each * size, MPI_INT, root, comm);
  right("Bcast", code, b.in, [&](int, int) { return 17; });
  b = Buffers(each);
  code = CALL(starts, Allgather, allgather, b.out.data(), each, MPI_INT, b.in.data(), each, MPI_INT,
              comm);
  right("Allgather", code, b.in, [&](int q, int) { return q + 1; });
  b = Buffers(each);
  code =
      CALL(starts, Alltoall, alltoall, MPI_IN_PLACE, 0, MPI_INT, b.out.data(), each, MPI_INT, comm);
  right("Alltoall", code, b.out, [&](int q, int) { return q + 1; });
  b = Buffers(each);
  code = CALL(starts, Gather, gather, b.out.data(), each, MPI_INT, b.in.data(), each, MPI_INT, root,
              comm);
  right("Gather", code, b.in, [&](int q, int) { return rank == root ? q + 1 : -1; });
  b = Buffers(each);
  code = CALL(starts, Allreduce, allreduce, MPI_IN_PLACE, b.out.data(), each * size, MPI_INT,
              MPI_SUM, comm);
  right("Allreduce", code, b.out, [&](int, int) { return all; });
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 1;
  nonblocking = argc > 2;
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
        for (const bool starts : {false, true}) go_well(comm, kind, 100, starts);
        if (rand() % 2 == 0) usleep(rand() % 1000);
        const int code = class_of(go_wrong(comm, kind, few, many));
        // Who has too little room is told; who only sends has done so.
        if (rank == 0 && kind < 6) expect(code == MPI_ERR_TRUNCATE, "room", kind, code);
        if (rank != 0 && kind < 2) expect(code == MPI_SUCCESS, "sending", kind, code);
        if (rank == 1 && kind == 3) expect(code == MPI_SUCCESS, "sending", kind, code);
        if (rand() % 2 == 0) usleep(rand() % 1000);
        // What members have started before they could know of it fails, too.
        if (nonblocking) MPI_Barrier(comm);
        for (const int each : {1, 5000})
          for (const bool starts : {nonblocking, !nonblocking}) go_well(comm, kind, each, starts);
        MPI_Comm_free(&comm);
      }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) std::printf("leaving: %d wrong\n", wrong);
  MPI_Finalize();
  return wrong != 0;
}
