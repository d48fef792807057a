// SPDX-License-Identifier: BSD-3-Clause
// A program on an MPI whose Fortran types are not of the usual sizes: ilp64 built|told. See
// ilp64_mpi.cc. Prints "ilp64: N wrong".
#include <dlfcn.h>
#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "bare.h"

namespace {

int g_rank = 0, g_size = 0, g_wrong = 0;

void expect(bool right, const char* what) {
  if (right) return;
  ++g_wrong;
  std::printf("WRONG: rank %d: %s\n", g_rank, what);
}

template <class T>
void try_out(const char* name, MPI_Datatype type, MPI_Op op, T mine, T expected) {
  constexpr int count = 5;
  std::vector<T> sent(count, mine), result(count, T{});
  MPI_Allreduce(sent.data(), result.data(), count, type, op, MPI_COMM_WORLD);
  for (const T& each : result) expect(each == expected, name);
  std::fill(result.begin(), result.end(), T{});
  MPI_Request request;
  MPI_Iallreduce(sent.data(), result.data(), count, type, op, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (const T& each : result) expect(each == expected, name);
  MPI_Bcast(sent.data(), count, type, g_size - 1, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, sent.data(), count, type, op, MPI_COMM_WORLD);
}

template <class T>
void move(const char* name, MPI_Datatype type) {
  constexpr std::size_t count = 5;
  std::vector<T> mine(count), all(count * static_cast<std::size_t>(g_size));
  const auto value = [](int rank, std::size_t i) {
    T element;
    std::memset(&element, 10 * rank + static_cast<int>(i) + 1, sizeof element);
    return element;
  };
  const auto same = [](const T& a, const T& b) { return std::memcmp(&a, &b, sizeof a) == 0; };
  for (std::size_t i = 0; i < count; ++i) mine[i] = value(g_rank, i);
  MPI_Allgather(mine.data(), count, type, all.data(), count, type, MPI_COMM_WORLD);
  for (std::size_t i = 0; i < all.size(); ++i)
    expect(same(all[i], value(static_cast<int>(i / count), i % count)), name);
  MPI_Bcast(mine.data(), count, type, 0, MPI_COMM_WORLD);
  for (std::size_t i = 0; i < count; ++i) expect(same(mine[i], value(0, i)), name);
  // A type that is made of it.
  MPI_Datatype some;
  MPI_Type_contiguous(count, type, &some);
  MPI_Type_commit(&some);
  for (std::size_t i = 0; i < count; ++i) mine[i] = value(g_rank, i);
  MPI_Bcast(mine.data(), 1, some, g_size - 1, MPI_COMM_WORLD);
  for (std::size_t i = 0; i < count; ++i) expect(same(mine[i], value(g_size - 1, i)), name);
  MPI_Type_free(&some);
}

struct Quad {
  char bytes[16];
};
struct Complex {
  double re, im;
  bool operator==(const Complex& other) const { return re == other.re && im == other.im; }
};

template <class Integer, class Real>
void all() {
  const auto ranks = static_cast<Integer>(g_size);
  const Integer big = sizeof(Integer) == 8 ? static_cast<Integer>(3'000'000'000) : 3'000'000;
  try_out<Integer>("INTEGER", MPI_INTEGER, MPI_SUM, big, big * ranks);
  try_out<Integer>("LOGICAL", MPI_LOGICAL, MPI_LOR, g_rank == 0, 1);
  try_out<Real>("REAL", MPI_REAL, MPI_MAX, static_cast<Real>(g_rank) + Real{0.5},
                static_cast<Real>(g_size) - Real{0.5});
  move<Integer>("INTEGER", MPI_INTEGER);
  move<Real>("REAL", MPI_REAL);
  struct Two {
    Integer a, b;
  };
  move<Two>("2INTEGER", MPI_2INTEGER);
  move<Two>("2REAL", MPI_2REAL);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &g_size);
  if (argc > 1 && std::strcmp(argv[1], "told") == 0) {
    all<std::int32_t, float>();
    const auto tell =
        reinterpret_cast<int (*)(MPI_Info)>(dlsym(RTLD_DEFAULT, "MPI_Abi_set_fortran_info"));
    expect(tell != nullptr && tell(MPI_INFO_NULL) == MPI_SUCCESS, "cannot be told");
  }
  all<std::int64_t, double>();
  try_out<Complex>("COMPLEX", MPI_COMPLEX, MPI_SUM, {1, 2},
                   {static_cast<double>(g_size), 2.0 * g_size});
  // No kernel for these: moved, and computed by the MPI.
  move<Quad>("DOUBLE PRECISION", MPI_DOUBLE_PRECISION);
  long double mine = g_rank + 0.25L, sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD);
  expect(sum == g_size * 0.25L + static_cast<long double>(g_size * (g_size - 1) / 2), "sum");
  BARE(Allreduce)(MPI_IN_PLACE, &g_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (g_rank == 0) std::printf("ilp64: %d wrong\n", g_wrong);
  MPI_Finalize();
  return g_wrong != 0;
}
