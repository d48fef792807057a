// SPDX-License-Identifier: BSD-3-Clause
// What a reduction with an operation of the user needs beside its Call, if it is nonblocking, or if
// its elements have gaps or are large.
#pragma once

#include "coll/late/fold.h"
#include "mpi/kept.h"
#include "mpi/user_operation.h"

namespace tutti::mpi {

template <class H>
class Reduction {
 public:
  explicit Reduction(const Native<H>& native) : native_(native) {}
  ~Reduction() { release(); }
  Reduction(const Reduction&) = delete;
  Reduction& operator=(const Reduction&) = delete;

  Described<H> element;
  bool gapped = false;
  UserOperation<H> operation;
  coll::Operands operands;  // of a late one

  // To its end. A predefined datatype needs no keeping.
  void keep(Kept<H>& operations, H op, Kept<H>& types, H type, bool predefined) {
    operations_ = &operations;
    op_ = op;
    operations.keep(op);
    if (predefined) return;
    types_ = &types;
    type_ = type;
    types.keep(type);
  }
  // Once it is over; not in a callback of the MPI's.
  void release() {
    if (operations_ != nullptr && operations_->let_go(op_)) native_.op_free(&op_);
    if (types_ != nullptr && types_->let_go(type_)) native_.type_free(&type_);
    operations_ = types_ = nullptr;
  }

  // By a thread of the rank, when the collective is over.
  void fold(coll::Collective collective, const coll::Work& work, int ranks, int rank) {
    if (work.operands == nullptr) return;
    const void* const before = UserOperation<H>::bind(&operation);
    coll::late::fold(collective, work, ranks, rank);
    (void)UserOperation<H>::bind(before);
  }

 private:
  const Native<H>& native_;
  Kept<H>*operations_ = nullptr, *types_ = nullptr;
  H op_{}, type_{};
};

}  // namespace tutti::mpi
