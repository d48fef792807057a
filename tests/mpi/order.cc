// SPDX-License-Identifier: BSD-3-Clause
// In which order reductions sum.
//
//   order trees tree|rank   what met whom, of every reduction, by sizes and buffers
//   order bits SEED         Allreduce of one double, MPI_X against PMPI_X, to the bit
//
// After FPRev (Xie et al. 2025): rank i gives a number so large that no 1 counts beside it, rank j
// the same with a minus, all others 1. So the sum is how many ranks were added after i and j had
// met, and all pairs together say the whole order.
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace {

int g_rank, g_ranks;
int g_compared, g_wrong;

// How many ranks are under the sum in which i and j meet, as docs/algorithms.md has it.
int under(bool tree, int i, int j) {
  if (!tree) return std::max(i, j) + 1;
  std::vector<std::vector<int>> sums;
  for (int q = 0; q < g_ranks; ++q) sums.push_back({q});
  const auto meet = [&](std::size_t left) {
    auto& sum = sums[left];
    sum.insert(sum.end(), sums[left + 1].begin(), sums[left + 1].end());
    sums.erase(sums.begin() + static_cast<std::ptrdiff_t>(left) + 1);
    const auto has = [&](int q) { return sum.front() <= q && q <= sum.back(); };
    return has(i) && has(j) ? static_cast<int>(sum.size()) : 0;
  };
  const auto power_of_two = [](std::size_t n) { return (n & (n - 1)) == 0; };
  for (std::size_t first = 0; !power_of_two(sums.size()); ++first)
    if (const int found = meet(first)) return found;
  for (;;)
    for (std::size_t left = 0; left < sums.size(); ++left)
      if (const int found = meet(left)) return found;
}

enum Kind { all, all_in_place, all_later, to_first, to_last, scattered, blocks, kinds };
constexpr const char* names[] = {"Allreduce",           "Allreduce in place", "Iallreduce",
                                 "Reduce to 0",         "Reduce to the last", "Reduce_scatter",
                                 "Reduce_scatter_block"};

// `count` sums on those who get some, of `count` x ranks operands where they are scattered.
bool sum(Kind kind, double* send, double* recv, int count) {
  const MPI_Comm world = MPI_COMM_WORLD;
  const int root = kind == to_last ? g_ranks - 1 : 0;
  MPI_Request request;
  std::vector<int> counts(static_cast<std::size_t>(g_ranks), count);
  switch (kind) {
    case all_in_place:
      std::memcpy(recv, send, static_cast<std::size_t>(count) * sizeof *send);
      MPI_Allreduce(MPI_IN_PLACE, recv, count, MPI_DOUBLE, MPI_SUM, world);
      return true;
    case all_later:
      MPI_Iallreduce(send, recv, count, MPI_DOUBLE, MPI_SUM, world, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      return true;
    case to_first:
    case to_last:
      MPI_Reduce(send, recv, count, MPI_DOUBLE, MPI_SUM, root, world);
      return g_rank == root;
    case scattered:
      MPI_Reduce_scatter(send, recv, counts.data(), MPI_DOUBLE, MPI_SUM, world);
      return true;
    case blocks:
      MPI_Reduce_scatter_block(send, recv, count, MPI_DOUBLE, MPI_SUM, world);
      return true;
    default:
      MPI_Allreduce(send, recv, count, MPI_DOUBLE, MPI_SUM, world);
      return true;
  }
}

void look(bool tree, Kind kind, double* send, double* recv, int count, const char* where) {
  const int operands = kind == scattered || kind == blocks ? count * g_ranks : count;
  for (int i = 0; i < g_ranks; ++i)
    for (int j = i + 1; j < g_ranks; ++j) {
      const double mine = g_rank == i ? 0x1p60 : g_rank == j ? -0x1p60 : 1;
      for (int k = 0; k < operands; ++k) send[k] = mine;
      if (!sum(kind, send, recv, count)) continue;
      const double wanted = g_ranks - under(tree, i, j);
      for (int k = 0; k < count; ++k) {
        ++g_compared;
        if (recv[k] == wanted) continue;
        if (g_wrong++ == 0)
          std::printf("%s of %d on the %s, element %d: %d and %d met under %d, not %d\n",
                      names[kind], count, where, k, i, j, g_ranks - static_cast<int>(recv[k]),
                      g_ranks - static_cast<int>(wanted));
      }
    }
}

void trees(bool tree) {
  static double data[2][32768];  // the program's data
  std::vector<double> heap_send(32768), heap_recv(32768);
  for (int kind = 0; kind < kinds; ++kind)
    for (const int count : {1, 13, 14, 15, 200, 1023, 1025, 4100}) {
      double send[8192], recv[8192];  // 64 KiB each, which peers do not map
      const bool fits = count * g_ranks <= 8192;
      const Kind which = static_cast<Kind>(kind);
      look(tree, which, heap_send.data(), heap_recv.data(), count, "heap");
      look(tree, which, data[0], data[1], count, "data");
      if (fits) look(tree, which, send, recv, count, "stack");
    }
  int mine[2] = {g_compared, g_wrong}, sums[2];
  PMPI_Reduce(mine, sums, 2, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (g_rank == 0) std::printf("order: %d compared, %d wrong\n", sums[0], sums[1]);
}

// The bits of our sums and of the MPI's, and how often the order makes a difference.
void bits(unsigned seed) {
  constexpr int few = 16, calls = 60;  // an MPI may take another algorithm for its first calls
  std::mt19937_64 random(seed + static_cast<unsigned>(g_rank));
  std::uniform_real_distribution<double> draw(-1, 1);
  int wrong = 0, matters = 0;
  std::uint64_t hash = 0;
  for (int call = 0; call < few + calls; ++call) {
    const double mine = draw(random);
    double ours, theirs, each[64];
    MPI_Allreduce(&mine, &ours, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    PMPI_Allreduce(&mine, &theirs, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allgather(&mine, 1, MPI_DOUBLE, each, 1, MPI_DOUBLE, MPI_COMM_WORLD);
    std::uint64_t word;
    std::memcpy(&word, &ours, sizeof word);
    hash = hash * 1099511628211u + word;
    if (call < few) continue;
    wrong += std::memcmp(&ours, &theirs, sizeof ours) != 0 ? 1 : 0;
    matters +=
        (each[0] + each[1]) + (each[2] + each[3]) != ((each[0] + each[1]) + each[2]) + each[3];
  }
  std::uint64_t first = hash;
  PMPI_Bcast(&first, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  if (first != hash) std::printf("rank %d has other bits than rank 0\n", g_rank);
  if (g_rank == 0)
    std::printf("bits: %d of %d differ, the order matters in %d, hash %016llx\n", wrong, calls,
                matters, static_cast<unsigned long long>(hash));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &g_ranks);
  if (argc != 3) MPI_Abort(MPI_COMM_WORLD, 2);
  if (std::string(argv[1]) == "trees")
    trees(std::string(argv[2]) == "tree");
  else
    bits(static_cast<unsigned>(std::atoi(argv[2])));
  MPI_Finalize();
}
