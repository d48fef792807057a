// SPDX-License-Identifier: BSD-3-Clause
// Who is in which call. A member that fails in a call gives its buffers back to the program, while
// others may still be reading or writing them. So it says on its desk that it has withdrawn from
// the call, makes a fence, and waits until no other member is in that call. A member that comes
// there after the fence finds Desk::stopped, is wary, and takes nothing from one that has withdrawn
// (fabric/desk_fabric.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "fabric/peers.h"
#include "os/os.h"

namespace tutti::fabric {

class Inside {
 public:
  // `word` says which call the owner of a desk is in: 2n - 1 while it is in its nth, 2n after that.
  using Word = std::atomic<std::uint64_t> Desk::*;

  Inside(Word word, std::span<Desk* const> desks, int rank, const Peers& peers,
         bool asymmetric_fence)
      : word_(word),
        desks_(desks),
        mine_(*desks[static_cast<std::size_t>(rank)]),
        peers_(peers),
        asymmetric_fence_(asymmetric_fence) {}

  // False: a member has stopped at this call, or at another one.
  [[nodiscard]] bool enter(std::uint64_t call) {
    (mine_.*word_).store(2 * call - 1, std::memory_order_relaxed);
    if (asymmetric_fence_)
      std::atomic_signal_fence(std::memory_order_seq_cst);  // pairs with heavy_fence() in fence()
    else
      std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the one in fence()
    return mine_.stopped.load(std::memory_order_relaxed) == 0;
  }
  void leave(std::uint64_t call) { (mine_.*word_).store(2 * call, std::memory_order_release); }

  // Before fence() and in_use(). And before `stopped` is written on the desks of the others.
  void withdraw(std::uint64_t call) {
    mine_.withdrawn.store(call, std::memory_order_release);  // pairs with look_into()
  }
  void fence() const {
    if (asymmetric_fence_)
      os::heavy_fence();
    else
      std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  // A word that changes when a living member has left the call; nullptr: nobody is in it.
  [[nodiscard]] const std::atomic<std::uint64_t>* in_use(std::uint64_t call) const {
    for (std::size_t i = 0; i < desks_.size(); ++i) {
      const auto& word = desks_[i]->*word_;
      if (word.load(std::memory_order_acquire) == 2 * call - 1 && !peers_.has_ended(i))
        return &word;
    }
    return nullptr;
  }

 private:
  Word word_;
  std::span<Desk* const> desks_;
  Desk& mine_;
  const Peers& peers_;
  bool asymmetric_fence_;
};

}  // namespace tutti::fabric
