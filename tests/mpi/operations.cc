// SPDX-License-Identifier: BSD-3-Clause
// Operations of the user, against what one process computes alone: a product of matrices, which
// does not commute, modulo a prime, so that every grouping has the same result.
//
//   operations            all of them, with many sizes
//   operations gaps       elements with gaps, and large ones
//   operations gapped     those with gaps, blocking, and with an operation that commutes
//   operations freed      what is freed while a nonblocking one is under way
//   operations outstanding  several at once, and blocking ones meanwhile
//   operations received   ranks that are in the MPI while others wait for them
//   operations alias      results in the place of operands without MPI_IN_PLACE, if the MPI lets
//   one operations refused    an operation that is none, errors returned
#include <mpi.h>

#include "gaps.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace {

constexpr std::uint32_t prime = 65521;

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

MPI_Datatype matrix_type, triple_type;

void multiply(void* in, void* in_out, int* length, MPI_Datatype* type) {
  look_at_the_thread();
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
void maximum(void* in, void* in_out, int* length, MPI_Datatype*) {
  look_at_the_thread();
  for (int i = 0; i < *length; ++i)
    static_cast<double*>(in_out)[i] =
        std::max(static_cast<double*>(in)[i], static_cast<double*>(in_out)[i]);
}

template <class T>
using Make = T (*)(int q, int i);

// Every collective that computes, blocking and not. result(first, last, i): of the operands of
// those members.
template <class T, class Result>
class Play {
 public:
  Play(MPI_Comm comm, int count, MPI_Datatype type, MPI_Op op, Make<T> make, Result result,
       const char* name)
      : comm_(comm), count_(count), type_(type), op_(op), result_(result), name_(name) {
    for (int i = 0; i < count; ++i) mine_.push_back(make(rank, i));
  }

  void all() {
    const int n = count_;
    const T* in = mine_.data();
    to_all("Allreduce", false, [&](T* out, auto... r) {
      return call(MPI_Allreduce, MPI_Iallreduce, in, out, n, type_, op_, comm_, r...);
    });
    to_all("Allreduce in place", true, [&](T* out, auto... r) {
      return call(MPI_Allreduce, MPI_Iallreduce, MPI_IN_PLACE, out, n, type_, op_, comm_, r...);
    });
    for (int root = 0; root < size; root += std::max(1, size - 1))
      to(root, "Reduce", [&](T* out, auto... r) {
        return call(MPI_Reduce, MPI_Ireduce, in, out, n, type_, op_, root, comm_, r...);
      });
    run("Scan", 0, rank + 1, 0, n, false, [&](T* out, auto... r) {
      return call(MPI_Scan, MPI_Iscan, in, out, n, type_, op_, comm_, r...);
    });
    run("Exscan", 0, rank, 0, rank > 0 ? n : 0, false, [&](T* out, auto... r) {
      return call(MPI_Exscan, MPI_Iexscan, in, out, n, type_, op_, comm_, r...);
    });
    run("Scan in place", 0, rank + 1, 0, n, true, [&](T* out, auto... r) {
      return call(MPI_Scan, MPI_Iscan, MPI_IN_PLACE, out, n, type_, op_, comm_, r...);
    });
    // Parts of different sizes.
    std::vector<int> counts(static_cast<std::size_t>(size), n / size);
    counts[0] += n % size;
    const int own = counts[static_cast<std::size_t>(rank)];
    const int before = std::accumulate(counts.begin(), counts.begin() + rank, 0);
    run("Reduce_scatter", 0, size, before, own, false, [&](T* out, auto... r) {
      return call(MPI_Reduce_scatter, MPI_Ireduce_scatter, in, out, counts.data(), type_, op_,
                  comm_, r...);
    });
    run("Reduce_scatter in place", 0, size, before, own, true, [&](T* out, auto... r) {
      return call(MPI_Reduce_scatter, MPI_Ireduce_scatter, MPI_IN_PLACE, out, counts.data(), type_,
                  op_, comm_, r...);
    });
    const int each = n / size;
    run("Reduce_scatter_block", 0, size, rank * each, each, false, [&](T* out, auto... r) {
      return call(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, in, out, each, type_, op_,
                  comm_, r...);
    });
  }

 private:
  template <class Blocking, class Started, class... Arguments>
  static int call(Blocking blocking, Started, const void* in, void* out, Arguments... arguments)
    requires std::is_invocable_v<Blocking, const void*, void*, Arguments...>
  {
    return blocking(in, out, arguments...);
  }
  template <class Blocking, class Started, class... Arguments>
  static int call(Blocking, Started started, const void* in, void* out, Arguments... arguments)
    requires std::is_invocable_v<Started, const void*, void*, Arguments...>
  {
    return started(in, out, arguments...);
  }

  template <class Call>
  void to_all(const char* what, bool in_place, Call call) {
    run(what, 0, size, 0, count_, in_place, call);
  }
  template <class Call>
  void to(int root, const char* what, Call call) {
    run(what, 0, size, 0, rank == root ? count_ : 0, false, call);
  }
  // Blocking, then not.
  template <class Call>
  void run(const char* what, int first, int last, int begin, int count, bool in_place, Call call) {
    std::vector<T> want;
    for (int i = begin; i < begin + count; ++i) want.push_back(result_(first, last, i));
    for (const bool starts : {false, true}) {
      std::vector<T> out(mine_.size());
      if (in_place) out = mine_;
      MPI_Request request = MPI_REQUEST_NULL;
      starts ? call(out.data(), &request) : call(out.data());
      if (starts) complete(request);
      out.resize(want.size());
      ++compared;
      if (out == want) continue;
      ++wrong;
      std::printf("rank %d: %s %s%s of %d is wrong\n", rank, name_, starts ? "I" : "", what,
                  count_);
    }
  }
  // By Wait and by Test in turn.
  static void complete(MPI_Request& request) {
    static unsigned turn = 0;
    if (++turn % 3 != 0) {
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      return;
    }
    for (int over = 0; over == 0;) MPI_Test(&request, &over, MPI_STATUS_IGNORE);
  }

  MPI_Comm comm_;
  int count_;
  MPI_Datatype type_;
  MPI_Op op_;
  Result result_;
  const char* name_;
  std::vector<T> mine_;
};
template <class T, class Result>
void play(MPI_Comm comm, int count, MPI_Datatype type, MPI_Op op, Make<T> make, Result result,
          const char* name) {
  Play<T, Result>(comm, count, type, op, make, result, name).all();
}

Matrix make_matrix(int q, int i) {
  const auto seed = static_cast<std::uint32_t>(q * 7919 + i);
  return {seed % prime, (seed * 3 + 1) % prime, (seed * 5 + 2) % prime, (seed * 7 + 3) % prime};
}
Triple make_triple(int q, int i) {
  const double x = (q * 37 + i * 11) % 101;
  return {{x, 3 * x + 1 + q, x * x}};
}

Matrix product_of(int first, int last, int i) {
  if (first == last) return Matrix{};
  Matrix all = make_matrix(first, i);
  for (int q = first + 1; q < last; ++q) all = times(all, make_matrix(q, i));
  return all;
}

void all(MPI_Comm comm) {
  MPI_Op product, farthest, most;
  MPI_Op_create(multiply, 0, &product);
  MPI_Op_create(longest, 1, &farthest);
  MPI_Op_create(maximum, 1, &most);
  for (const int count : {1, 2, 3, 7, 64, 100, 1000, 4099, 20'000, 100'003}) {
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
  // A function that is freed, and another that is made in its place.
  for (int i = 0; i < 50; ++i) {
    MPI_Op again;
    MPI_Op_create(maximum, 1, &again);
    double mine = rank, all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, again, comm);
    wrong += all != size - 1;
    MPI_Op_free(&again);
  }
  for (MPI_Op* op : {&product, &farthest, &most}) MPI_Op_free(op);
}

// The operation and the datatype are freed as soon as the collective is started, and others made.
// The function is called with the handle that it was started with.
void freed(MPI_Comm comm) {
  for (const int count : {1, 100, 1000, 50'000}) {
    const auto n = static_cast<std::size_t>(count);
    for (int round = 0; round < 10; ++round) {
      MPI_Op product, others[3];
      MPI_Datatype type;
      MPI_Op_create(multiply, 0, &product);
      MPI_Type_contiguous(4, MPI_UNSIGNED, &type);
      MPI_Type_commit(&type);
      matrix_type = type;
      std::vector<Matrix> mine(n), out(n), out2(n);
      for (std::size_t i = 0; i < n; ++i) mine[i] = make_matrix(rank, static_cast<int>(i));
      MPI_Request requests[2];
      MPI_Iallreduce(mine.data(), out.data(), count, type, product, comm, &requests[0]);
      MPI_Iscan(mine.data(), out2.data(), count, type, product, comm, &requests[1]);
      MPI_Op_free(&product);
      MPI_Type_free(&type);
      wrong += product != MPI_OP_NULL || type != MPI_DATATYPE_NULL;
      for (MPI_Op& other : others) MPI_Op_create(maximum, 1, &other);
      MPI_Type_contiguous(5, MPI_UNSIGNED, &type);
      MPI_Type_commit(&type);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      for (std::size_t i = 0; i < n; ++i) {
        wrong += out[i] != product_of(0, size, static_cast<int>(i));
        wrong += out2[i] != product_of(0, rank + 1, static_cast<int>(i));
      }
      ++compared;
      for (MPI_Op& other : others) MPI_Op_free(&other);
      MPI_Type_free(&type);
    }
  }
}

// Of several operations, completed in any order, with blocking ones before they are.
void outstanding(MPI_Comm comm) {
  MPI_Op product, most;
  MPI_Op_create(multiply, 0, &product);
  MPI_Op_create(maximum, 1, &most);
  for (int round = 0; round < 30; ++round) {
    constexpr int count = 30'000;
    std::vector<Matrix> mine(count), out(count);
    std::vector<double> numbers(count), largest(count), largest2(count);
    for (int i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      mine[at] = make_matrix(rank, i);
      numbers[at] = (rank * 31 + i * 17) % 97;
    }
    const int n = round % 2 == 0 ? count : 50;
    MPI_Request requests[3];
    MPI_Iallreduce(mine.data(), out.data(), n, matrix_type, product, comm, &requests[0]);
    MPI_Iallreduce(numbers.data(), largest.data(), n, MPI_DOUBLE, most, comm, &requests[1]);
    MPI_Ibarrier(comm, &requests[2]);
    MPI_Allreduce(numbers.data(), largest2.data(), n, MPI_DOUBLE, most, comm);
    if (round % 3 == 0) MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    if (round % 3 == 1) MPI_Wait(&requests[2], MPI_STATUS_IGNORE);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    ++compared;
    for (int i = 0; i < n; ++i) {
      const auto at = static_cast<std::size_t>(i);
      wrong += out[at] != product_of(0, size, i) || largest[at] != largest2[at];
    }
  }
  MPI_Op_free(&product);
  MPI_Op_free(&most);
}

// Rank 0 starts some and is then in MPI_Recv, until the others have completed them: what it has to
// do for them, its progress thread must, which may not call the function.
void received(MPI_Comm comm) {
  MPI_Op product;
  MPI_Op_create(multiply, 0, &product);
  for (const int count : {1, 100, 1000, 5000, 50'000}) {
    const auto n = static_cast<std::size_t>(count);
    std::vector<Matrix> mine(n), out(n), prefix(n), part(n);
    for (std::size_t i = 0; i < n; ++i) mine[i] = make_matrix(rank, static_cast<int>(i));
    for (int round = 0; round < 5; ++round) {
      MPI_Request requests[4];
      MPI_Iallreduce(mine.data(), out.data(), count, matrix_type, product, comm, &requests[0]);
      MPI_Iscan(mine.data(), prefix.data(), count, matrix_type, product, comm, &requests[1]);
      MPI_Ireduce_scatter_block(mine.data(), part.data(), count / size, matrix_type, product, comm,
                                &requests[2]);
      MPI_Iallreduce(mine.data(), out.data(), count, matrix_type, product, comm, &requests[3]);
      if (rank != 0) MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
      for (int q = 1; q < size; ++q) {
        if (rank == q) MPI_Send(nullptr, 0, MPI_BYTE, 0, 1, comm);
        if (rank == 0) MPI_Recv(nullptr, 0, MPI_BYTE, q, 1, comm, MPI_STATUS_IGNORE);
      }
      if (rank == 0) MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
      ++compared;
      for (std::size_t i = 0; i < n; ++i) {
        wrong += out[i] != product_of(0, size, static_cast<int>(i));
        wrong += prefix[i] != product_of(0, rank + 1, static_cast<int>(i));
      }
    }
  }
  MPI_Op_free(&product);
}

// Before anybody waits, progress threads have had the time to do what they may.
void alias(MPI_Comm comm) {
  MPI_Op most;
  MPI_Op_create(maximum, 1, &most);
  for (const int each : {1, 100, 1000, 100'000}) {
    std::vector<double> all(static_cast<std::size_t>(each * size));
    for (int i = 0; i < each * size; ++i)
      all[static_cast<std::size_t>(i)] = (rank * 31 + i * 17) % 97;
    MPI_Request request;
    MPI_Ireduce_scatter_block(all.data(), all.data(), each, MPI_DOUBLE, most, comm, &request);
    for (const double start = MPI_Wtime(); MPI_Wtime() < start + 0.2;) {
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    ++compared;
    for (int i = 0; i < each; ++i) {
      double want = 0;
      for (int q = 0; q < size; ++q)
        want = std::max(want, (q * 31 + (rank * each + i) * 17) % 97 * 1.0);
      wrong += all[static_cast<std::size_t>(i)] != want;
    }
  }
  MPI_Op_free(&most);
}

void parts(MPI_Comm comm) {
  MPI_Datatype type;
  MPI_Type_contiguous(16, matrix_type, &type);
  MPI_Type_commit(&type);
  MPI_Op most;
  MPI_Op_create(
      [](void* in, void* in_out, int* length, MPI_Datatype*) {
        auto* right = static_cast<unsigned*>(in_out);
        for (int i = 0; i < *length * 64; ++i)
          right[i] = std::max(static_cast<unsigned*>(in)[i], right[i]);
      },
      1, &most);
  constexpr std::size_t words = 64;
  std::vector<unsigned> mine(words * static_cast<std::size_t>(size), static_cast<unsigned>(rank));
  std::vector<unsigned> part(words);
  MPI_Reduce_scatter_block(mine.data(), part.data(), 1, type, most, comm);
  ++compared;
  for (const unsigned each : part) wrong += each != static_cast<unsigned>(size - 1);
  MPI_Op_free(&most);
  MPI_Type_free(&type);
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
  for (MPI_Datatype* type : {&matrix_type, &triple_type}) MPI_Type_commit(type);
  const std::string what = argc > 1 ? argv[1] : "all";
  if (what == "all") all(MPI_COMM_WORLD);
  sums = what == "gapped";
  if (what == "gaps" || sums) gaps(MPI_COMM_WORLD);
  if (what == "freed") freed(MPI_COMM_WORLD);
  if (what == "outstanding") outstanding(MPI_COMM_WORLD);
  if (what == "received") received(MPI_COMM_WORLD);
  if (what == "alias") alias(MPI_COMM_WORLD);
  if (what == "parts") parts(MPI_COMM_WORLD);
  if (what == "refused") refused(MPI_COMM_WORLD);
  std::printf("rank %d: operations: %ld compared, %ld wrong\n", rank, compared, wrong);
  std::fflush(stdout);
  MPI_Finalize();
  return 0;
}
