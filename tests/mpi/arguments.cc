// SPDX-License-Identifier: BSD-3-Clause
// Wrong arguments, with errors returned: prints the class of error that each call gives. What the
// MPI checks is the MPI's own affair, so the test compares a run with Tutti with one without. Each
// call has a communicator of its own, as what some ranks refuse others have begun; and none in
// which those would then wait (Scatter).
#include <mpi.h>

#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace {

int rank = 0, size = 0, told = 0;
MPI_Comm comm = MPI_COMM_WORLD;

void renew() {
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
}

void count_error(MPI_Comm*, int*, ...) { ++told; }

void report(const std::string& what, int code) {
  int error_class = code;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &error_class);
  std::printf("rank %d: %s: %d\n", rank, what.c_str(), error_class);
  std::fflush(stdout);
}

// A blocking call and, where it makes a request, its nonblocking form.
void try_both(const std::string& what, const std::function<int()>& blocking,
              const std::function<int(MPI_Request*)>& starting) {
  renew();
  report(what, blocking());
  renew();
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = starting(&request);
  report("I" + what, code);
  if (code == MPI_SUCCESS) MPI_Wait(&request, MPI_STATUS_IGNORE);
}

}  // namespace

int main(int argc, char**) {
  // Intel MPI: those who have begun what the root refuses wait, by which algorithm depends on the
  // CPU.
  const bool has_roots = argc == 1;
  MPI_Init(nullptr, nullptr);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);  // some errors go there
  std::vector<int> memory(1 << 16, 1);
  for (const int n : {1, 1000}) {
    int* const x = memory.data();
    const auto at = [&](int place) { return x + place * n; };
    std::vector<int> counts(static_cast<std::size_t>(size), n), places(counts);
    for (int i = 0; i < size; ++i) places[static_cast<std::size_t>(i)] = i * n;
    const std::string many = " of " + std::to_string(n);
    const MPI_Datatype type = MPI_INT;
    const MPI_Op op = MPI_BOR;
    try_both(
        "allreduce, same" + many, [&] { return MPI_Allreduce(x, x, n, type, op, comm); },
        [&](MPI_Request* r) { return MPI_Iallreduce(x, x, n, type, op, comm, r); });
    if (has_roots && n == 1)  // else those who have begun may wait
      try_both(
          "reduce, same" + many,
          [&] { return MPI_Reduce(x, rank == 0 ? x : nullptr, n, type, op, 0, comm); },
          [&](MPI_Request* r) {
            return MPI_Ireduce(x, rank == 0 ? x : nullptr, n, type, op, 0, comm, r);
          });
    try_both(
        "scan, same" + many, [&] { return MPI_Scan(x, x, n, type, op, comm); },
        [&](MPI_Request* r) { return MPI_Iscan(x, x, n, type, op, comm, r); });
    try_both(
        "exscan, same" + many, [&] { return MPI_Exscan(x, x, n, type, op, comm); },
        [&](MPI_Request* r) { return MPI_Iexscan(x, x, n, type, op, comm, r); });
    try_both(
        "reduce_scatter_block, same" + many,
        [&] { return MPI_Reduce_scatter_block(x, x, n, type, op, comm); },
        [&](MPI_Request* r) { return MPI_Ireduce_scatter_block(x, x, n, type, op, comm, r); });
    try_both(
        "reduce_scatter, same" + many,
        [&] { return MPI_Reduce_scatter(x, x, counts.data(), type, op, comm); },
        [&](MPI_Request* r) {
          return MPI_Ireduce_scatter(x, x, counts.data(), type, op, comm, r);
        });
    // The own block where it goes to.
    const int place = rank;
    const std::string what = ", own place" + many;
    if (has_roots && n == 1) {
      try_both(
          "gather" + what,
          [&] { return MPI_Gather(at(place), n, type, x, n, type, size - 1, comm); },
          [&](MPI_Request* r) {
            return MPI_Igather(at(place), n, type, x, n, type, size - 1, comm, r);
          });
      try_both(
          "gatherv" + what,
          [&] {
            return MPI_Gatherv(at(place), n, type, x, counts.data(), places.data(), type, size - 1,
                               comm);
          },
          [&](MPI_Request* r) {
            return MPI_Igatherv(at(place), n, type, x, counts.data(), places.data(), type, size - 1,
                                comm, r);
          });
    }
    MPI_Datatype gapped;
    MPI_Type_vector(2, 1, 2, MPI_INT, &gapped);
    MPI_Type_commit(&gapped);
    MPI_Datatype spaced;
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spaced);
    MPI_Type_commit(&spaced);
    for (const int root : has_roots&& n == 1 ? std::vector<int>{0, size - 1} : std::vector<int>{})
      for (const int ints : {2, 3}) {
        const MPI_Datatype each = ints == 2 ? spaced : gapped;
        const std::string where = " with gaps to " + std::to_string(root) + what;
        try_both(
            "gather" + where,
            [&] { return MPI_Gather(x + ints * rank, 1, each, x, 1, each, root, comm); },
            [&](MPI_Request* r) {
              return MPI_Igather(x + ints * rank, 1, each, x, 1, each, root, comm, r);
            });
      }
    int* const own = rank == 0 ? x + 100 : x + 3 * rank;
    try_both(
        "allgather with gaps" + what,
        [&] { return MPI_Allgather(own, 1, gapped, x, 1, gapped, comm); },
        [&](MPI_Request* r) { return MPI_Iallgather(own, 1, gapped, x, 1, gapped, comm, r); });
    MPI_Type_free(&gapped);
    MPI_Type_free(&spaced);
    try_both(
        "allgather" + what, [&] { return MPI_Allgather(at(place), n, type, x, n, type, comm); },
        [&](MPI_Request* r) { return MPI_Iallgather(at(place), n, type, x, n, type, comm, r); });
    try_both(
        "allgatherv" + what,
        [&] {
          return MPI_Allgatherv(at(place), n, type, x, counts.data(), places.data(), type, comm);
        },
        [&](MPI_Request* r) {
          return MPI_Iallgatherv(at(place), n, type, x, counts.data(), places.data(), type, comm,
                                 r);
        });
    try_both(
        "alltoall, same" + many, [&] { return MPI_Alltoall(x, n, type, x, n, type, comm); },
        [&](MPI_Request* r) { return MPI_Ialltoall(x, n, type, x, n, type, comm, r); });
    const std::vector<int> others(counts), other_places(places);
    for (const bool same : {true, false})
      try_both(
          std::string("alltoallv, same") + (same ? " counts" : "") + many,
          [&] {
            return MPI_Alltoallv(x, counts.data(), places.data(), type, x,
                                 (same ? counts : others).data(),
                                 (same ? places : other_places).data(), type, comm);
          },
          [&](MPI_Request* r) {
            return MPI_Ialltoallv(x, counts.data(), places.data(), type, x,
                                  (same ? counts : others).data(),
                                  (same ? places : other_places).data(), type, comm, r);
          });
    std::vector<MPI_Datatype> types(static_cast<std::size_t>(size), type), other_types(types);
    std::vector<int> bytes(places);
    for (int& place : bytes) place *= static_cast<int>(sizeof(int));
    for (const bool same : {true, false})
      try_both(
          std::string("alltoallw, same") + (same ? " types" : "") + many,
          [&] {
            return MPI_Alltoallw(x, counts.data(), bytes.data(), types.data(), x, counts.data(),
                                 bytes.data(), (same ? types : other_types).data(), comm);
          },
          [&](MPI_Request* r) {
            return MPI_Ialltoallw(x, counts.data(), bytes.data(), types.data(), x, counts.data(),
                                  bytes.data(), (same ? types : other_types).data(), comm, r);
          });
    // This rank sends itself nothing of it.
    std::vector<int> some(static_cast<std::size_t>(size), n);
    some[static_cast<std::size_t>(rank)] = 0;
    try_both(
        "alltoallv, same, nothing to itself" + many,
        [&] {
          return MPI_Alltoallv(x, some.data(), places.data(), type, x, some.data(), places.data(),
                               type, comm);
        },
        [&](MPI_Request* r) {
          return MPI_Ialltoallv(x, some.data(), places.data(), type, x, some.data(), places.data(),
                                type, comm, r);
        });
    try_both(
        "alltoallw, same, nothing to itself" + many,
        [&] {
          return MPI_Alltoallw(x, some.data(), bytes.data(), types.data(), x, some.data(),
                               bytes.data(), types.data(), comm);
        },
        [&](MPI_Request* r) {
          return MPI_Ialltoallw(x, some.data(), bytes.data(), types.data(), x, some.data(),
                                bytes.data(), types.data(), comm, r);
        });
    // MPI_IN_PLACE where it means nothing.
    void* const here = MPI_IN_PLACE;
    try_both(
        "allreduce into in place" + many, [&] { return MPI_Allreduce(x, here, n, type, op, comm); },
        [&](MPI_Request* r) { return MPI_Iallreduce(x, here, n, type, op, comm, r); });
    try_both(
        "scan into in place" + many, [&] { return MPI_Scan(x, here, n, type, op, comm); },
        [&](MPI_Request* r) { return MPI_Iscan(x, here, n, type, op, comm, r); });
    try_both(
        "reduce_scatter_block into in place" + many,
        [&] { return MPI_Reduce_scatter_block(x, here, n, type, op, comm); },
        [&](MPI_Request* r) { return MPI_Ireduce_scatter_block(x, here, n, type, op, comm, r); });
    // A datatype that was never committed.
    MPI_Datatype raw;
    MPI_Type_vector(2, 1, 2, MPI_INT, &raw);
    try_both(
        "bcast of an uncommitted type" + many, [&] { return MPI_Bcast(x, 1, raw, 0, comm); },
        [&](MPI_Request* r) { return MPI_Ibcast(x, 1, raw, 0, comm, r); });
    try_both(
        "allgather of an uncommitted type" + many,
        [&] { return MPI_Allgather(x, 1, raw, x + 100, 1, raw, comm); },
        [&](MPI_Request* r) { return MPI_Iallgather(x, 1, raw, x + 100, 1, raw, comm, r); });
    MPI_Type_free(&raw);
    // Handles that were never set.
    static MPI_Datatype no_type;
    try_both(
        "bcast of a type never set" + many, [&] { return MPI_Bcast(x, n, no_type, 0, comm); },
        [&](MPI_Request* r) { return MPI_Ibcast(x, n, no_type, 0, comm, r); });
#ifdef OPEN_MPI
    try_both(
        "reduce_scatter without counts" + many,
        [&] { return MPI_Reduce_scatter(x, x + n, nullptr, type, op, comm); },
        [&](MPI_Request* r) { return MPI_Ireduce_scatter(x, x + n, nullptr, type, op, comm, r); });
#else  // it does not look
    static MPI_Op no_op;
    try_both(
        "allreduce by an operation never set" + many,
        [&] { return MPI_Allreduce(x, x + n, n, type, no_op, comm); },
        [&](MPI_Request* r) { return MPI_Iallreduce(x, x + n, n, type, no_op, comm, r); });
#endif
  }
  // Told once, and of this call.
  MPI_Errhandler counts_errors;
  MPI_Comm_create_errhandler(count_error, &counts_errors);
  for (MPI_Comm each : {MPI_COMM_WORLD, MPI_COMM_SELF})
    MPI_Comm_set_errhandler(each, counts_errors);
  std::vector<int> counts(static_cast<std::size_t>(size), 1), places(counts);
  int* const x = memory.data();
  report("gatherv on no communicator", MPI_Gatherv(x, 1, MPI_INT, x + 100, counts.data(),
                                                   places.data(), MPI_INT, 0, MPI_COMM_NULL));
  report("scatterv on no communicator", MPI_Scatterv(x, counts.data(), places.data(), MPI_INT,
                                                     x + 100, 1, MPI_INT, 0, MPI_COMM_NULL));
  MPI_Request request = MPI_REQUEST_NULL;
  report("igatherv on no communicator",
         MPI_Igatherv(x, 1, MPI_INT, x + 100, counts.data(), places.data(), MPI_INT, 0,
                      MPI_COMM_NULL, &request));
  static MPI_Comm no_comm;
  report("bcast on a communicator never set", MPI_Bcast(x, 1, MPI_INT, 0, no_comm));
  std::printf("rank %d: told %d times\n", rank, told);
  for (MPI_Comm each : {MPI_COMM_WORLD, MPI_COMM_SELF})
    MPI_Comm_set_errhandler(each, MPI_ERRORS_RETURN);
  // Both are served, and work.
  int mine = rank + 1, sum = 0;
  renew();
  report("allreduce", MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm));
  if (sum != size * (size + 1) / 2) std::printf("rank %d: a wrong sum\n", rank);
  MPI_Finalize();
  return 0;
}
