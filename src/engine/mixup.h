// SPDX-License-Identifier: BSD-3-Clause
// Blocking and nonblocking collectives do not match, and all members of a communicator must call
// both kinds in one order. Members that do not would wait for each other on different desks, where
// nothing that they read of each other differs.
//
// So each start of a nonblocking collective is published with the step of the blocking ones that it
// came after. Whoever waits for long compares: a member that has started one more than another, and
// before a blocking call which that one is in or has done, has called something else in its place.
// That costs blocking calls nothing.
//
// It is also what it looks like for a while when both call the same two, a blocking one and a
// nonblocking one, each in another order. That is wrong too, but goes well: neither has to wait in
// one for the other. So what is found counts when it has lasted; much longer where both have come
// to the same blocking call, and it is most likely that one of them is late.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "segment/desk.h"

namespace tutti::engine {

// Instead of the blocking collective of one member another has started a nonblocking one. Both as
// in engine/call.h; 0: not known which.
struct Mixup {
  int starter;
  std::uint64_t started;
  int blocker;
  std::uint64_t blocking;
  std::uint64_t number;  // how many the starter has started up to that one
  segment::Step step;    // of the blocking one
  bool met;              // both have come to it

  // Found again, in the same call or wait: nothing has changed since it was first found.
  [[nodiscard]] bool same_as(const Mixup& other) const {
    return starter == other.starter && blocker == other.blocker && number == other.number &&
           step == other.step && met == other.met;
  }
};

// `desks` are those of the team's blocking collectives.
using Desks = std::span<segment::Desk* const>;

// The owner of `mine` starts a nonblocking collective; `after`: the last step of its blocking ones.
void publish_start(segment::Desk& mine, segment::Step after, std::uint64_t call);

// The first call of `desk`'s owner that it has posted a step of, beyond `after`; 0: none, or too
// many since.
[[nodiscard]] std::uint64_t call_after(segment::Desk& desk, segment::Step after);

// As `rank` sees it, which waits in a blocking collective whose first step is `first`.
[[nodiscard]] std::optional<Mixup> find_mixup_in_call(Desks desks, int rank, segment::Step first,
                                                      std::uint64_t call);

// As `rank` sees it, which waits for what it has started.
[[nodiscard]] std::optional<Mixup> find_mixup_in_wait(Desks desks, int rank);

}  // namespace tutti::engine
