// SPDX-License-Identifier: BSD-3-Clause
// Every blocking collective, so often that it is found out who does it faster, Tutti or the MPI, on
// two communicators. Between the calls ranks compute unequally long, send each other messages, and
// have nonblocking collectives under way. Prints "turns: N wrong". The argument: how often.
#include <cstdlib>
#include <cstring>

#include "../mpi/bare.h"
#include "../mpi/every.h"
#include "../mpi/level.h"

namespace {

// A sum that is under way while other collectives are called.
class Sum {
 public:
  explicit Sum(MPI_Comm comm) {
    MPI_Comm_size(comm, &size_);
    MPI_Iallreduce(&one_, &sum_, 1, MPI_INT, MPI_SUM, comm, &request_);
  }
  int count_wrong() {
    MPI_Wait(&request_, MPI_STATUS_IGNORE);
    return sum_ != size_;
  }

 private:
  int size_ = 0, one_ = 1, sum_ = 0;
  MPI_Request request_;
};

// Sums whose bits depend on who computes them: the same in all calls, whoever has which turns.
class Sums {
 public:
  explicit Sums(MPI_Comm comm) : comm_(comm) {
    int rank;
    MPI_Comm_rank(comm, &rank);
    for (int i = 0; i < values; ++i) doubles_[i] = 1.0 / (3 + 7 * rank + i);
  }
  int count_wrong() {
    double all[values], before[values];
    unsigned char bytes[values];
    MPI_Allreduce(doubles_, all, values, MPI_DOUBLE, MPI_SUM, comm_);
    MPI_Scan(doubles_, before, values, MPI_DOUBLE, MPI_SUM, comm_);
    // Some MPIs saturate.
    MPI_Allreduce(large_, bytes, values, MPI_UNSIGNED_CHAR, MPI_SUM, comm_);
    const int wrong = differs(all_, all) + differs(before_, before) + differs(bytes_, bytes);
    ++calls_;
    return wrong;
  }

 private:
  static constexpr int values = 64;

  // Whether this differs from that of the first call.
  template <class Value>
  bool differs(Value (&first)[values], const Value (&now)[values]) const {
    if (calls_ == 0) std::memcpy(first, now, sizeof now);
    return std::memcmp(first, now, sizeof now) != 0;
  }

  MPI_Comm comm_;
  int calls_ = 0;
  double doubles_[values], all_[values], before_[values];
  unsigned char large_[values] = {200, 201, 255}, bytes_[values];
};

void compute(unsigned steps) {
  for (volatile unsigned i = 0; i < steps; i = i + 1) continue;
}

}  // namespace

int main(int argc, char** argv) {
  init_as_told(&argc, &argv);
  const int often = argc > 1 ? std::atoi(argv[1]) : 0;
  int rank, size, wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm other;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  constexpr int sizes[] = {1, 700, 20000};
  Every on_world(MPI_COMM_WORLD, sizes[2]), on_other(other, sizes[2]);
  Sums sums(other);
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (const int n : sizes)
    for (int call = 0; call < (n == sizes[2] ? often / 3 : often); ++call) {
      const auto seed = static_cast<unsigned>(call);
      Sum sum(call % 2 == 0 ? MPI_COMM_WORLD : other);
      MPI_Request request;
      MPI_Isend(&call, 1, MPI_INT, right, 5, MPI_COMM_WORLD, &request);
      wrong += on_world.all(n, seed);
      compute(static_cast<unsigned>((rank * 7 + call) % 11) * 2000);
      int got = -1;
      MPI_Recv(&got, 1, MPI_INT, left, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      wrong += got != call;
      wrong += sums.count_wrong();
      wrong += on_other.all(n, seed + 1);
      wrong += sum.count_wrong();
    }
  BARE(Allreduce)(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) std::printf("turns: %d wrong\n", wrong);
  MPI_Comm_free(&other);
  MPI_Finalize();
  return wrong != 0;
}
