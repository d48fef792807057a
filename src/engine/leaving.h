// SPDX-License-Identifier: BSD-3-Clause
// How the members of a team leave their collectives to the MPI after an error that has killed
// nobody. They do so separately for blocking and for nonblocking ones. All leave from the same call
// on, though each is at another call when it hears of the error. The call of a nonblocking
// collective is its start.
//
// Every member numbers its calls, and all number them alike. Desk::calls says whether its owner is
// in a call, and how many it has ended.
//  - A member that meets an error in call S ends that call, writes S on all desks (`stopped`) and
//    makes a fence. From then on nobody begins a call after S.
//  - It then waits until nobody is in call S any more: others may be using its buffers. So does a
//    member that is told (fabric/inside.h). For a nonblocking collective its queue waits.
//  - A member that is in a call ends it, or waits in vain and is told. If it has only been told,
//    and the call can be made again, the call counts as not begun.
//  - So soon nobody is in a call. The number of the last call that anybody has ended, S or later,
//    changes no more. Each member finds that number when it comes to its next call.
//  - That call and those before it fail on members that have not ended them. The calls after it are
//    the MPI's, on all members.
//
// Calls up to S go on as if nothing had happened. A member that is ahead has done its part of those
// before S. A member that comes to S may find an error of its own there.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "fabric/inside.h"

namespace tutti::engine {

class Leaving {
 public:
  // `desks` and `peers` are those of the members, in rank order. `starts`: the calls are starts of
  // nonblocking collectives.
  Leaving(bool starts, std::span<fabric::Desk* const> desks, int rank, const fabric::Peers& peers,
          const segment::WaitPolicy& wait_policy)
      : starts_(starts),
        desks_(desks),
        mine_(*desks[static_cast<std::size_t>(rank)]),
        peers_(peers),
        inside_(&fabric::Desk::calls, desks, rank, peers, wait_policy.asymmetric_fence) {}

  // The next call begins. False: ask may_go_on(), and be wary (fabric/inside.h).
  [[nodiscard]] bool begin() { return inside_.enter(++number_); }
  void end() { inside_.leave(number_); }
  // The number of the last call; the same on all members.
  [[nodiscard]] std::uint64_t number() const { return number_; }

  // Whether the call is not after the one that has failed. If it is, refuse() ends it.
  [[nodiscard]] bool may_go_on() const;

  // These two end a call. True: it is the MPI's, as are all later ones. False: it fails.
  //  - refuse(): the call has not begun.
  [[nodiscard]] bool refuse();
  //  - peer_error(): another member has said that it has met an error. `again`: the call can still
  //    be made.
  [[nodiscard]] bool peer_error(bool again);

  // Whether a member had too little room in a call.
  [[nodiscard]] bool cut(std::uint64_t number) const;

  // Ends the call, in which this member has met an error. `cut`: it has too little room.
  void stop(bool cut);
  // The same, if the members cannot even leave together: whatever they call from now on fails.
  void lose();
  // The same for nonblocking call `number`, whose start has ended or will. `told`: another member
  // has met the error. Any thread may call this.
  void stop_at(std::uint64_t number, bool told, bool cut);
  // As lose(), but waits for nobody. Who comes to call `number` is wary; 0: to none. Any thread may
  // call this.
  void break_off(std::uint64_t number);

 private:
  [[nodiscard]] bool broken() const;
  void stop_from(std::uint64_t first);
  [[nodiscard]] bool leave(std::uint64_t ended);
  [[nodiscard]] std::uint64_t find_first();
  void wait_for_those_inside() const;

  bool starts_;
  std::span<fabric::Desk* const> desks_;
  fabric::Desk& mine_;
  const fabric::Peers& peers_;
  fabric::Inside inside_;
  std::uint64_t number_ = 0;
  std::uint64_t ended_ = 0;  // when it leaves: the last call of this member that was not the MPI's
  std::uint64_t first_ = 0;  // the first call that is the MPI's; 0: not known
};

}  // namespace tutti::engine
