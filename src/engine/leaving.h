// SPDX-License-Identifier: BSD-3-Clause
// How the members of a team leave their blocking or their nonblocking collectives to the MPI after
// an error that has killed nobody: from the same call on, all of them, though each is at another
// one. Of a nonblocking collective, its start is the call.
//
// Every member numbers its calls, and all number them alike. Desk::calls says whether its owner is
// in one, and how many it has ended. Who meets an error in call S ends that, writes S on all desks
// (`stopped`) and makes a fence; from then on nobody begins a call after S. Who is in one
// ends it, or waits in vain and is told. A call of which a member has only been told counts as not
// begun, if it can be made again. So soon nobody is in a call, and the number of the last call that
// anybody has ended, S or later, changes no more: all find the same one, each when it comes to its
// next call. That and what comes before it fails on those who have not ended it; the calls after it
// are the MPI's, on all members.
//
// Calls up to S go on as if nothing had happened: who is ahead has done its part of those before,
// and who comes to S may find an error of its own there.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "fabric/peers.h"

namespace tutti::engine {

class Leaving {
 public:
  // `desks` and `peers` are those of the members, in rank order. `starts`: of nonblocking ones.
  Leaving(bool starts, std::span<fabric::Desk* const> desks, int rank, const fabric::Peers& peers,
          const segment::Patience& patience)
      : starts_(starts),
        desks_(desks),
        mine_(*desks[static_cast<std::size_t>(rank)]),
        peers_(peers),
        asymmetric_fence_(patience.asymmetric_fence) {}

  // The next call begins. False: ask may_go_on().
  [[nodiscard]] bool begin() {
    mine_.calls.store(2 * ++number_ - 1, std::memory_order_relaxed);
    if (asymmetric_fence_)
      std::atomic_signal_fence(std::memory_order_seq_cst);  // pairs with heavy_fence() in stop()
    else
      std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the fence in stop()
    return mine_.stopped.load(std::memory_order_relaxed) == 0;
  }
  void end() { mine_.calls.store(2 * number_, std::memory_order_release); }
  // Of the last call; the same on all members.
  [[nodiscard]] std::uint64_t number() const { return number_; }

  // The call is not after the one that has failed. Otherwise refuse() ends it.
  [[nodiscard]] bool may_go_on() const;

  // These end a call. True: it is the MPI's, as are all later ones; false: it fails.
  //  - It has not begun.
  [[nodiscard]] bool refuse();
  //  - Another member has said that it has met an error. `again`: the call can still be made.
  [[nodiscard]] bool told(bool again);

  // Whether a member had too little room in a call.
  [[nodiscard]] bool cut(std::uint64_t number) const;

  // This member has met an error in the call, which ends. `cut`: that it has too little room.
  void stop(bool cut);
  // The same of a nonblocking one, whose start has ended or will; or, with number 0, that another
  // member has met one. Any thread may say so.
  void stop_at(std::uint64_t number, bool cut);
  // The same, and the members cannot even leave together: whatever they call from now on fails. Any
  // thread may say so.
  void break_off();

 private:
  [[nodiscard]] bool broken() const;
  void stop_from(std::uint64_t first);
  [[nodiscard]] bool leave(std::uint64_t ended);
  [[nodiscard]] std::uint64_t find_first();

  bool starts_;
  std::span<fabric::Desk* const> desks_;
  fabric::Desk& mine_;
  const fabric::Peers& peers_;
  bool asymmetric_fence_;
  std::uint64_t number_ = 0;
  std::uint64_t ended_ = 0;  // the last call of this member that was not the MPI's, when it leaves
  std::uint64_t first_ = 0;  // the first call that is the MPI's; 0: not known
};

}  // namespace tutti::engine
