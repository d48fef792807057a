// SPDX-License-Identifier: BSD-3-Clause
// The algorithms that progress threads run, as rows beside those of tables.h.
#pragma once

#include "coll/scan/chain.h"

namespace tutti::coll {
namespace nonblocking {

template <Fabric F>
inline constexpr Row<F> scan[] = {{"chain", "each hands its prefix on to the next, in pieces",
                                   [](const Facts&) { return true; },
                                   scan::chain<F, scan::Kind::inclusive>}};
template <Fabric F>
inline constexpr Row<F> exscan[] = {{"chain", "each hands its prefix on to the next, in pieces",
                                     [](const Facts&) { return true; },
                                     scan::chain<F, scan::Kind::exclusive>}};

}  // namespace nonblocking

template <Fabric F>
std::span<const Row<F>> nonblocking_rows_of(Collective collective) {
  switch (collective) {
    case Collective::scan:
      return nonblocking::scan<F>;
    case Collective::exscan:
      return nonblocking::exscan<F>;
    default:
      return {};
  }
}

}  // namespace tutti::coll
