// SPDX-License-Identifier: BSD-3-Clause
// Operations of the user, against what one process computes alone: a product of matrices, which
// does not commute, modulo a prime, so that every grouping has the same result.
//
//   operations           all of them, with many sizes
//   operations refused   an operation that is none, errors returned
#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr std::uint32_t prime = 65521;
int rank = 0, size = 0;
long wrong = 0, compared = 0, calls_of_function = 0;

struct Matrix {
  std::uint32_t a, b, c, d;
  bool operator==(const Matrix&) const = default;
};
Matrix times(const Matrix& x, const Matrix& y) {
  return {(x.a * y.a % prime + x.b * y.c % prime) % prime,
          (x.a * y.b % prime + x.b * y.d % prime) % prime,
          (x.c * y.a % prime + x.d * y.c % prime) % prime,
          (x.c * y.b % prime + x.d * y.d % prime) % prime};
}

MPI_Datatype matrix_type, triple_type, gap_type;

void multiply(void* in, void* in_out, int* length, MPI_Datatype* type) {
  ++calls_of_function;
  if (*type != matrix_type) ++wrong;
  auto* left = static_cast<const Matrix*>(in);
  auto* right = static_cast<Matrix*>(in_out);
  for (int i = 0; i < *length; ++i) right[i] = times(left[i], right[i]);
}

struct Triple {
  double value[3];
  bool operator==(const Triple&) const = default;
};
void longest(void* in, void* in_out, int* length, MPI_Datatype*) {
  auto* left = static_cast<const Triple*>(in);
  auto* right = static_cast<Triple*>(in_out);
  const auto norm = [](const Triple& t) {
    return t.value[0] * t.value[0] + t.value[1] * t.value[1] + t.value[2] * t.value[2];
  };
  for (int i = 0; i < *length; ++i)
    if (norm(left[i]) > norm(right[i])) right[i] = left[i];
}
void add_first(void* in, void* in_out, int* length, MPI_Datatype*) {
  for (int i = 0; i < *length; ++i)
    static_cast<int*>(in_out)[2 * i] += static_cast<int*>(in)[2 * i];
}
void maximum(void* in, void* in_out, int* length, MPI_Datatype*) {
  for (int i = 0; i < *length; ++i)
    static_cast<double*>(in_out)[i] =
        std::max(static_cast<double*>(in)[i], static_cast<double*>(in_out)[i]);
}

template <class T>
void compare(const std::vector<T>& got, const std::vector<T>& right, const char* what, int count) {
  ++compared;
  if (got == right) return;
  ++wrong;
  std::printf("rank %d: %s of %d is wrong\n", rank, what, count);
}

template <class T>
using Make = T (*)(int q, int i);

// Every collective that computes. result(first, last, i): of the operands of those members.
template <class T, class Result>
void play(MPI_Comm comm, int count, MPI_Datatype type, MPI_Op op, Make<T> make, Result result,
          const char* name) {
  const auto n = static_cast<std::size_t>(count);
  std::vector<T> mine(n), out(n), want(n);
  const T nothing{};
  for (int i = 0; i < count; ++i) mine[static_cast<std::size_t>(i)] = make(rank, i);
  const auto expect = [&](int first, int last) {
    for (int i = 0; i < count; ++i) want[static_cast<std::size_t>(i)] = result(first, last, i);
  };
  expect(0, size);
  MPI_Allreduce(mine.data(), out.data(), count, type, op, comm);
  compare(out, want, (std::string(name) + " Allreduce").c_str(), count);
  out = mine;
  MPI_Allreduce(MPI_IN_PLACE, out.data(), count, type, op, comm);
  compare(out, want, (std::string(name) + " Allreduce in place").c_str(), count);
  for (int root = 0; root < size; root += size - 1) {
    std::fill(out.begin(), out.end(), nothing);
    MPI_Reduce(mine.data(), out.data(), count, type, op, root, comm);
    if (rank == root) compare(out, want, (std::string(name) + " Reduce").c_str(), count);
  }
  expect(0, rank + 1);
  MPI_Scan(mine.data(), out.data(), count, type, op, comm);
  compare(out, want, (std::string(name) + " Scan").c_str(), count);
  std::fill(out.begin(), out.end(), nothing);
  MPI_Exscan(mine.data(), out.data(), count, type, op, comm);
  expect(0, rank);
  if (rank > 0) compare(out, want, (std::string(name) + " Exscan").c_str(), count);
  // Parts of different sizes.
  std::vector<int> counts(static_cast<std::size_t>(size), count / size);
  counts[0] += count % size;
  const int own = counts[static_cast<std::size_t>(rank)];
  const int before = std::accumulate(counts.begin(), counts.begin() + rank, 0);
  expect(0, size);
  std::vector<T> part(static_cast<std::size_t>(own));
  MPI_Reduce_scatter(mine.data(), part.data(), counts.data(), type, op, comm);
  compare(part, {want.begin() + before, want.begin() + before + own},
          (std::string(name) + " Reduce_scatter").c_str(), count);
  MPI_Request request;
  MPI_Iallreduce(mine.data(), out.data(), count, type, op, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  compare(out, want, (std::string(name) + " Iallreduce").c_str(), count);
}

Matrix make_matrix(int q, int i) {
  const auto seed = static_cast<std::uint32_t>(q * 7919 + i);
  return {seed % prime, (seed * 3 + 1) % prime, (seed * 5 + 2) % prime, (seed * 7 + 3) % prime};
}
Triple make_triple(int q, int i) {
  const double x = (q * 37 + i * 11) % 101;
  return {{x, 3 * x + 1 + q, x * x}};
}

void all(MPI_Comm comm) {
  MPI_Op product, farthest, first_sum, most;
  MPI_Op_create(multiply, 0, &product);
  MPI_Op_create(longest, 1, &farthest);
  MPI_Op_create(add_first, 1, &first_sum);
  MPI_Op_create(maximum, 1, &most);
  for (const int count : {1, 2, 3, 7, 64, 100, 1000, 4099, 20'000, 100'003}) {
    const auto product_of = [](int first, int last, int i) {
      if (first == last) return Matrix{};
      Matrix all = make_matrix(first, i);
      for (int q = first + 1; q < last; ++q) all = times(all, make_matrix(q, i));
      return all;
    };
    play<Matrix>(comm, count, matrix_type, product, make_matrix, product_of, "product");
    const auto longest_of = [](int first, int last, int i) {
      if (first == last) return Triple{};
      Triple all = make_triple(first, i);
      for (int q = first + 1; q < last; ++q) {
        Triple next = make_triple(q, i);
        int one = 1;
        longest(&all, &next, &one, nullptr);
        all = next;
      }
      return all;
    };
    play<Triple>(comm, count, triple_type, farthest, make_triple, longest_of, "longest");
    const auto most_of = [](int first, int last, int i) {
      double all = first == last ? 0 : -1e9;
      for (int q = first; q < last; ++q) all = std::max(all, (q * 31 + i * 17) % 97 * 1.0);
      return all;
    };
    play<double>(
        comm, count, MPI_DOUBLE, most, [](int q, int i) { return (q * 31 + i * 17) % 97 * 1.0; },
        most_of, "most");
  }
  // Elements with gaps, which the function sees as they lie.
  std::vector<int> in(200, 1), out(200, -1);
  MPI_Allreduce(in.data(), out.data(), 100, gap_type, first_sum, comm);
  ++compared;
  // What lies between them is not looked at: Intel MPI overwrites it, on some processors.
  for (std::size_t i = 0; i < 200; i += 2) wrong += out[i] != size;
  // A function that is freed, and another that is made in its place.
  for (int i = 0; i < 50; ++i) {
    MPI_Op again;
    MPI_Op_create(maximum, 1, &again);
    double mine = rank, all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, again, comm);
    wrong += all != size - 1;
    MPI_Op_free(&again);
  }
  for (MPI_Op* op : {&product, &farthest, &first_sum, &most}) MPI_Op_free(op);
}

void refused(MPI_Comm comm) {
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  double mine = 1, sum = 0;
  for (MPI_Op op : {MPI_OP_NULL, MPI_REPLACE, MPI_NO_OP}) {
    ++compared;
    wrong += MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, op, comm) == MPI_SUCCESS;
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Type_contiguous(4, MPI_UNSIGNED, &matrix_type);
  MPI_Type_contiguous(3, MPI_DOUBLE, &triple_type);
  MPI_Type_create_resized(MPI_INT, 0, 8, &gap_type);
  for (MPI_Datatype* type : {&matrix_type, &triple_type, &gap_type}) MPI_Type_commit(type);
  if (argc > 1 && std::string(argv[1]) == "refused")
    refused(MPI_COMM_WORLD);
  else
    all(MPI_COMM_WORLD);
  std::printf("rank %d: operations: %ld compared, %ld wrong\n", rank, compared, wrong);
  std::fflush(stdout);
  MPI_Finalize();
  return 0;
}
