// SPDX-License-Identifier: BSD-3-Clause
// What a reduction needs beside its Call if its elements have gaps; and with an operation of the
// user, if it is nonblocking or its elements are large.
#pragma once

#include "coll/late/operands.h"
#include "coll/work.h"
#include "fabric/task.h"
#include "mpi/user_operation.h"

namespace tutti::mpi {

template <class H>
class Reduction {
 public:
  Reduction(H its_type, H its_op) : type(its_type), op(its_op) {}
  // One a call, from where coroutines come from.
  static void* operator new(std::size_t bytes) { return fabric::frames::allocate(bytes); }
  static void operator delete(void* reduction, std::size_t bytes) {
    fabric::frames::release(reduction, bytes);
  }

  const H type, op;  // as the program has them
  Described<H> element;
  bool gapped = false;
  UserOperation<H> operation;
  coll::Operands operands;  // of a late one

  // By a thread of the rank, when the collective is over.
  void fold(coll::Collective collective, const coll::Work& work, int ranks, int rank);
};

}  // namespace tutti::mpi
