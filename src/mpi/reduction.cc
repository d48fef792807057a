// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/reduction.h"

#include "coll/late/fold.h"

namespace tutti::mpi {

template <class H>
void Reduction<H>::fold(coll::Collective collective, const coll::Work& work, int ranks, int rank) {
  if (work.operands == nullptr) return;
  const void* const before = UserOperation<H>::bind(&operation);
  coll::late::fold(collective, work, ranks, rank);
  (void)UserOperation<H>::bind(before);
}

template class Reduction<int>;
template class Reduction<void*>;

}  // namespace tutti::mpi
