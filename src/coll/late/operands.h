// SPDX-License-Identifier: BSD-3-Clause
// Late reductions: only threads of the rank may apply their operation, as it is the user's, while
// the collective itself is brought forward by anybody. Or the operation takes its elements one by
// one, as they are large.
//
// No member may depend on what another one has to fold: that one may be in the MPI, where nothing
// but its progress thread goes on. So either the operands are gathered, and wait with each member
// that wants a result until the collective is over there, for a thread of its own to fold them
// (fold.h). Or the folding is shared out, and whoever comes does the work of all (coll/sliced.h).
#pragma once

#include <cstdlib>
#include <memory>

#include "base/base.h"
#include "base/bits.h"

namespace tutti::coll {

// What waits with one member.
class Operands {
 public:
  // Makes room for those of all others.
  void make(int ranks, int rank, std::size_t bytes) {
    wait_ = true;
    rank_ = rank;
    each_ = round_up(bytes, line_bytes);
    const std::size_t all = each_ * static_cast<std::size_t>(ranks - 1);
    if (all == 0) return;
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(line_bytes, all)));
    if (memory_ != nullptr) return;
    log::fatal("out of memory: %zu bytes for the operands of a reduction", all);
    std::abort();
  }
  // False: the collective has folded all by itself.
  [[nodiscard]] bool wait() const { return wait_; }
  // Member `q`'s, which is not this one.
  [[nodiscard]] std::byte* of(int q) const {
    return memory_.get() + static_cast<std::size_t>(q < rank_ ? q : q - 1) * each_;
  }
  void free() {
    wait_ = false;
    memory_.reset();
  }

 private:
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  bool wait_ = false;
  int rank_ = 0;
  std::size_t each_ = 0;
};

}  // namespace tutti::coll
