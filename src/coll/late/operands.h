// SPDX-License-Identifier: BSD-3-Clause
// Late reductions. Only threads of the rank may apply their operation, as it is the user's, while
// any thread brings the collective itself forward. Reductions of large elements, which are taken
// one by one, are late as well.
//
// No member may depend on what another one has to fold: that one may be in the MPI, where nothing
// but its progress thread goes on. There are two ways out. Either the operands are gathered, and
// wait with each member that wants a result. When the collective is over there, a thread of that
// rank folds them (fold.h). Or the folding is shared out, and any thread that may fold does the
// work of all (coll/sliced.h).
#pragma once

#include <cstddef>

#include "base/bits.h"
#include "fabric/task.h"

namespace tutti::coll {

// The operands that wait with one member.
class Operands {
 public:
  Operands() = default;
  ~Operands() { free(); }
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;

  // Makes room for the operands of all others.
  void make(int ranks, int rank, std::size_t bytes) {
    rank_ = rank;
    each_ = round_up(bytes, alignof(std::max_align_t));
    bytes_ = each_ * static_cast<std::size_t>(ranks - 1);
    if (bytes_ > 0) memory_ = static_cast<std::byte*>(fabric::frames::allocate(bytes_));
    wait_ = true;
  }
  // False: the collective has folded all by itself.
  [[nodiscard]] bool wait() const { return wait_; }
  // The operand of member `q`, which is not this one.
  [[nodiscard]] std::byte* of(int q) const {
    return memory_ + static_cast<std::size_t>(q < rank_ ? q : q - 1) * each_;
  }
  void free() {
    if (memory_ != nullptr) fabric::frames::release(memory_, bytes_);
    memory_ = nullptr;
    wait_ = false;
  }

 private:
  std::byte* memory_ = nullptr;
  std::size_t each_ = 0, bytes_ = 0;
  int rank_ = 0;
  bool wait_ = false;
};

}  // namespace tutti::coll
