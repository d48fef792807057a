// SPDX-License-Identifier: BSD-3-Clause
#include "tutti_bench/collectives.h"

#include "tutti_bench/calls.h"
#include "tutti_bench/limits.h"

namespace tutti::bench {
namespace {

std::size_t all(const Problem& p) { return p.bytes * static_cast<std::size_t>(p.ranks); }

// Bytes of a rank's two buffers.
Sizes one_one(const Problem& p, int) { return {p.bytes, p.bytes}; }
Sizes one_all(const Problem& p, int) { return {p.bytes, all(p)}; }
Sizes all_all(const Problem& p, int) { return {all(p), all(p)}; }
Sizes gathered(const Problem& p, int r) { return {p.bytes, r == p.root ? all(p) : p.bytes}; }
Sizes scattered(const Problem& p, int r) { return {r == p.root ? all(p) : p.bytes, p.bytes}; }
// A part of the vector each, rounded up to whole elements.
Sizes shared(const Problem& p, int) {
  const auto ranks = static_cast<std::size_t>(p.ranks);
  const std::size_t part = divide_up(static_cast<std::size_t>(p.count), ranks) * p.element;
  return {part * ranks, part};
}

// Who holds a result.
bool everywhere(const Problem&) { return true; }
bool nowhere(const Problem&) { return false; }
bool at_root(const Problem& p) { return p.rank == p.root; }
bool at_others(const Problem& p) { return p.rank != p.root; }
bool but_first(const Problem& p) { return p.rank != 0; }

// clang-format off
constexpr Collective rows[] = {
    {"bcast", true, false, Shape::none, one_one, calls::bcast, calls::bcast, at_others, limits::bcast},
    {"reduce", true, true, Shape::none, one_one, calls::reduce, calls::reduce, at_root, limits::reduce},
    {"allreduce", true, true, Shape::none, one_one, calls::allreduce, calls::allreduce, everywhere, limits::allreduce},
    {"barrier", false, false, Shape::none, one_one, calls::barrier, calls::barrier, nowhere, limits::barrier},
    {"gather", true, false, Shape::none, gathered, calls::gather, calls::gather, at_root, limits::gather},
    {"gatherv", true, false, Shape::by_rank, gathered, calls::gatherv, calls::gatherv, at_root, limits::gather},
    {"scatter", true, false, Shape::none, scattered, calls::scatter, calls::scatter, everywhere, limits::gather},
    {"scatterv", true, false, Shape::by_rank, scattered, calls::scatterv, calls::scatterv, everywhere, limits::gather},
    {"allgather", true, false, Shape::none, one_all, calls::allgather, calls::allgather, everywhere, limits::allgather},
    {"allgatherv", true, false, Shape::by_rank, one_all, calls::allgatherv, calls::allgatherv, everywhere, limits::allgather},
    {"alltoall", true, false, Shape::none, all_all, calls::alltoall, calls::alltoall, everywhere, limits::alltoall},
    {"alltoallv", true, false, Shape::pairs, all_all, calls::alltoallv, calls::alltoallv, everywhere, limits::alltoall},
    {"alltoallw", true, false, Shape::typed_pairs, all_all, calls::alltoallw, calls::alltoallw, everywhere, limits::alltoall},
    {"alltoallv_transpose", true, false, Shape::transpose, all_all, calls::alltoallv, calls::alltoallv, everywhere, limits::alltoall},
    {"alltoallw_transpose", true, false, Shape::typed_transpose, all_all, calls::alltoallw, calls::alltoallw, everywhere, limits::alltoall},
    {"reduce_scatter", true, true, Shape::shares, shared, calls::reduce_scatter, calls::reduce_scatter, everywhere, limits::reduce},
    {"reduce_scatter_block", true, true, Shape::none, shared, calls::reduce_scatter_block, calls::reduce_scatter_block, everywhere, limits::reduce},
    {"scan", true, true, Shape::none, one_one, calls::scan, calls::scan, everywhere, limits::scan},
    {"exscan", true, true, Shape::none, one_one, calls::exscan, calls::exscan, but_first, limits::exscan},
};
// clang-format on

}  // namespace

std::span<const Collective> collectives() { return rows; }

}  // namespace tutti::bench
