// SPDX-License-Identifier: BSD-3-Clause
// The algorithms of Denis et al. 2019 for progress threads, as rows beside those of coll/tables.h.
// All of them take any Facts, and turn to a row of the blocking tables where buffers cannot be
// reached. Real ranks take the rows of coll/tables.h: docs/simulate.md shows that these are as
// fast.
#pragma once

#include "coll/scan/chain.h"
#include "coll/tree/allreduce.h"
#include "coll/tree/gather.h"
#include "coll/tree/scatter.h"

namespace tutti::coll {
namespace nonblocking {

// They are not chosen by cost.
constexpr double unknown(const Facts&, const Costs&) { return 0; }

template <Fabric F, scan::Kind kind>
inline constexpr Row<F> chain[] = {
    {{"chain", "each hands its prefix on to the next, in pieces", Needs::nothing, unknown},
     scan::chain<F, kind>}};

// The lowest levels of a tree are left to the ranks, as many as Work::levels says.
template <Fabric F, Task (*run)(F&, const Work&)>
inline constexpr Row<F> tree[] = {
    {{"tree", "a binomial tree, split between ranks and progress threads", Needs::nothing, unknown},
     run}};

}  // namespace nonblocking

template <Fabric F>
std::span<const Row<F>> nonblocking_rows_of(Collective collective) {
  switch (collective) {
    case Collective::bcast:
      return nonblocking::tree<F, tree::bcast<F>>;
    case Collective::reduce:
      return nonblocking::tree<F, tree::reduce<F>>;
    case Collective::allreduce:
      return nonblocking::tree<F, tree::allreduce<F>>;
    case Collective::gather:
      return nonblocking::tree<F, tree::gather<F>>;
    case Collective::scatter:
      return nonblocking::tree<F, tree::scatter<F>>;
    case Collective::scan:
      return nonblocking::chain<F, scan::Kind::inclusive>;
    case Collective::exscan:
      return nonblocking::chain<F, scan::Kind::exclusive>;
    default:
      return {};
  }
}

}  // namespace tutti::coll
