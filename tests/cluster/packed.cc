// SPDX-License-Identifier: BSD-3-Clause
// Alltoalls of blocks that leaders pack, and of longer ones: all three, blocking and nonblocking,
// in place, and with gaps; and a large Allreduce. Prints "packed: N wrong, M calls", the calls of
// each of MPI_Alltoall, MPI_Alltoallv and so on.
#include <mpi.h>

#include <cstdio>
#include <vector>

namespace {

int g_rank, g_size;

double value(int from, int to, int i) { return from * 1e6 + to * 1e3 + i % 1000; }

// A block of doubles for each rank, with `stride` from one to the next.
class Blocks {
 public:
  Blocks(int count, int stride)
      : count_(count),
        stride_(stride),
        values_(static_cast<std::size_t>(count) * static_cast<std::size_t>(stride * g_size), -1) {
    MPI_Datatype one;
    MPI_Type_vector(count, 1, stride, MPI_DOUBLE, &one);
    MPI_Type_create_resized(one, 0, 8L * count * stride, &type_);
    MPI_Type_commit(&type_);
    MPI_Type_free(&one);
  }
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;
  ~Blocks() { MPI_Type_free(&type_); }

  void fill() {
    for (int to = 0; to < g_size; ++to)
      for (int i = 0; i < count_; ++i) at(to, i) = value(g_rank, to, i);
  }
  [[nodiscard]] int count_wrong() {
    int wrong = 0;
    for (int from = 0; from < g_size; ++from)
      for (int i = 0; i < count_; ++i) {
        wrong += at(from, i) != value(from, g_rank, i);
        for (int gap = 1; gap < stride_; ++gap) wrong += (&at(from, i))[gap] != -1;
      }
    return wrong;
  }
  [[nodiscard]] double* data() { return values_.data(); }
  [[nodiscard]] MPI_Datatype type() const { return type_; }

 private:
  double& at(int rank, int i) {
    return values_[static_cast<std::size_t>((rank * count_ + i) * stride_)];
  }
  int count_, stride_;
  std::vector<double> values_;
  MPI_Datatype type_;
};

enum class Kind { alltoall, alltoallv, alltoallw };

int alltoall(Kind kind, Blocks& sent, Blocks& got, bool in_place, bool nonblocking) {
  sent.fill();
  if (in_place) got.fill();
  const void* const from = in_place ? MPI_IN_PLACE : sent.data();
  void* const to = got.data();
  const MPI_Datatype out = sent.type(), in = got.type();
  const MPI_Comm world = MPI_COMM_WORLD;
  const auto size = static_cast<std::size_t>(g_size);
  const std::vector<int> ones(size, 1);
  std::vector<int> places(size), out_bytes(size), in_bytes(size);
  const std::vector<MPI_Datatype> outs(size, out), ins(size, in);
  MPI_Aint lower, out_extent, in_extent;
  MPI_Type_get_extent(out, &lower, &out_extent);
  MPI_Type_get_extent(in, &lower, &in_extent);
  for (int i = 0; i < g_size; ++i) {
    const auto at = static_cast<std::size_t>(i);
    places[at] = i;
    out_bytes[at] = i * static_cast<int>(out_extent);
    in_bytes[at] = i * static_cast<int>(in_extent);
  }
  const int *one = ones.data(), *displacements = places.data();
  MPI_Request request = MPI_REQUEST_NULL;
  switch (kind) {
    case Kind::alltoall:
      nonblocking ? MPI_Ialltoall(from, 1, out, to, 1, in, world, &request)
                  : MPI_Alltoall(from, 1, out, to, 1, in, world);
      break;
    case Kind::alltoallv:
      nonblocking ? MPI_Ialltoallv(from, one, displacements, out, to, one, displacements, in, world,
                                   &request)
                  : MPI_Alltoallv(from, one, displacements, out, to, one, displacements, in, world);
      break;
    case Kind::alltoallw:
      nonblocking ? MPI_Ialltoallw(from, one, out_bytes.data(), outs.data(), to, one,
                                   in_bytes.data(), ins.data(), world, &request)
                  : MPI_Alltoallw(from, one, out_bytes.data(), outs.data(), to, one,
                                  in_bytes.data(), ins.data(), world);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  return got.count_wrong();
}

int allreduce(int count) {
  std::vector<double> sent(static_cast<std::size_t>(count)), got(sent.size());
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = g_rank + static_cast<double>(i % 100);
  MPI_Allreduce(sent.data(), got.data(), count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  int wrong = 0;
  for (std::size_t i = 0; i < got.size(); ++i)
    wrong += got[i] != g_size * (g_size - 1) / 2 + g_size * static_cast<double>(i % 100);
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &g_size);
  int wrong = 0, calls = 0;
  for (const int count : {1, 8, 300, 512, 600})
    for (const int out_stride : {1, 2})
      for (const int in_stride : {1, 3})
        for (const bool in_place : {false, true}) {
          if (in_place && out_stride > 1) continue;
          Blocks sent(count, out_stride), got(count, in_stride);
          for (const Kind kind : {Kind::alltoall, Kind::alltoallv, Kind::alltoallw})
            for (const bool nonblocking : {false, true})
              wrong += alltoall(kind, sent, got, in_place, nonblocking);
          ++calls;
        }
  wrong += allreduce(1 << 18);
  int all = 0;
  MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (g_rank == 0) std::printf("packed: %d wrong, %d calls\n", all, calls);
  MPI_Finalize();
}
