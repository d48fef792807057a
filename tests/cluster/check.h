// SPDX-License-Identifier: BSD-3-Clause
// Collectives whose results are known.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <vector>

// What member `rank` puts at place `i`: small, so that sums are exact.
inline int value_of(int rank, int i) { return (rank * 7 + i) % 1000 + 1; }

inline std::vector<int> values_of(int rank, int count) {
  std::vector<int> values(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = value_of(rank, i);
  return values;
}

inline std::vector<int> sums_of(int members, int count) {
  std::vector<int> sums(static_cast<std::size_t>(count));
  for (int rank = 0; rank < members; ++rank)
    for (int i = 0; i < count; ++i) sums[static_cast<std::size_t>(i)] += value_of(rank, i);
  return sums;
}

// How many results of an Allreduce of `count` are wrong.
inline int check_sum(MPI_Comm comm, int count) {
  int rank = 0, size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  std::vector<int> mine = values_of(rank, count), sums(mine.size(), -1);
  MPI_Allreduce(mine.data(), sums.data(), count, MPI_INT, MPI_SUM, comm);
  return sums != sums_of(size, count);
}

// How many results of any of the collectives are wrong: each with `count` elements a block, out of
// place and in place.
inline int check_all(MPI_Comm comm, int count, int root) {
  int rank = 0, size = 0, wrong = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const auto n = static_cast<std::size_t>(count), members = static_cast<std::size_t>(size);
  const bool at_root = rank == root;
  const std::vector<int> mine = values_of(rank, count), sums = sums_of(size, count);
  std::vector<int> all;
  for (int each = 0; each < size; ++each) {
    const std::vector<int> block = values_of(each, count);
    all.insert(all.end(), block.begin(), block.end());
  }
  MPI_Barrier(comm);

  std::vector<int> told = at_root ? mine : std::vector<int>(n, -1);
  MPI_Bcast(told.data(), count, MPI_INT, root, comm);
  wrong += told != values_of(root, count);

  wrong += check_sum(comm, count);
  std::vector<int> sum = mine;
  MPI_Allreduce(MPI_IN_PLACE, sum.data(), count, MPI_INT, MPI_SUM, comm);
  wrong += sum != sums;

  sum.assign(n, -1);
  MPI_Reduce(mine.data(), sum.data(), count, MPI_INT, MPI_SUM, root, comm);
  wrong += at_root && sum != sums;
  sum = mine;
  if (at_root)
    MPI_Reduce(MPI_IN_PLACE, sum.data(), count, MPI_INT, MPI_SUM, root, comm);
  else
    MPI_Reduce(sum.data(), sum.data(), count, MPI_INT, MPI_SUM, root, comm);
  wrong += at_root && sum != sums;

  for (const bool in_place : {false, true}) {
    std::vector<int> got(at_root ? n * members : 0, -1);
    const bool here = in_place && at_root;
    if (here) std::copy(mine.begin(), mine.end(), got.begin() + rank * count);
    MPI_Gather(here ? MPI_IN_PLACE : mine.data(), count, MPI_INT, got.data(), count, MPI_INT, root,
               comm);
    wrong += at_root && got != all;

    std::vector<int> part(n, -1);
    MPI_Scatter(at_root ? all.data() : nullptr, count, MPI_INT, here ? MPI_IN_PLACE : part.data(),
                count, MPI_INT, root, comm);
    wrong += !here && part != mine;

    got.assign(n * members, -1);
    if (in_place) std::copy(mine.begin(), mine.end(), got.begin() + rank * count);
    MPI_Allgather(in_place ? MPI_IN_PLACE : mine.data(), count, MPI_INT, got.data(), count, MPI_INT,
                  comm);
    wrong += got != all;

    std::vector<int> turned(n * members), taken(n * members);
    for (int each = 0; each < size; ++each)
      for (int i = 0; i < count; ++i) {
        const auto at = static_cast<std::size_t>(each * count + i);
        turned[at] = value_of(rank + 10 * each, i);
        taken[at] = value_of(each + 10 * rank, i);
      }
    if (in_place) {
      MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, turned.data(), count, MPI_INT, comm);
      wrong += turned != taken;
    } else {
      got.assign(n * members, -1);
      MPI_Alltoall(turned.data(), count, MPI_INT, got.data(), count, MPI_INT, comm);
      wrong += got != taken;
    }

    // The first `count - rank` of each block, or none, with gaps between.
    std::vector<int> counts, places, expected(n * members, -1);
    for (int each = 0; each < size; ++each) {
      counts.push_back(each % 3 == 1 ? 0 : std::max(0, count - each));
      places.push_back((size - 1 - each) * count);
      for (int i = 0; i < counts.back(); ++i)
        expected[static_cast<std::size_t>(places.back() + i)] = value_of(each, i);
    }
    got.assign(n * members, -1);
    if (in_place)
      std::copy_n(mine.begin(), counts[static_cast<std::size_t>(rank)],
                  got.begin() + places[static_cast<std::size_t>(rank)]);
    MPI_Allgatherv(in_place ? MPI_IN_PLACE : mine.data(), counts[static_cast<std::size_t>(rank)],
                   MPI_INT, got.data(), counts.data(), places.data(), MPI_INT, comm);
    wrong += got != expected;
  }
  return wrong;
}
