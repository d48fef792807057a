// SPDX-License-Identifier: BSD-3-Clause
// Blocking and nonblocking collectives do not match, and all members of a communicator must call
// both kinds in one order. Members that do not would wait for each other on different desks. So
// neither reads a line of the other that shows the difference.
//
// So each start of a nonblocking collective is published, with the step of the blocking ones that
// it came after. A member that waits for long compares. Say that member A has started one more than
// member B, before a blocking call that B is in or has ended. Then A has called something else in
// the place of that call. All this costs blocking calls nothing.
//
// For a while it also looks like this when both members call the same two collectives, a blocking
// and a nonblocking one, in different order. That is wrong too, but goes well if neither has to
// wait for the other in one of them. So what is found counts only when it has lasted. It must last
// much longer if both have come to the same blocking call: most likely one of them is only late.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "segment/desk.h"

namespace tutti::engine {

// Where one member called a blocking collective, another has started a nonblocking one. Both calls
// are as in engine/call_signature.h; 0: not known which.
struct Mixup {
  int starter;
  std::uint64_t started;
  int blocker;
  std::uint64_t blocking;
  std::uint64_t number;  // how many the starter has started up to that one
  segment::Step step;    // of the blocking one
  bool met;              // both have come to it

  // Whether it is the same mix-up, found again in the same call or wait.
  [[nodiscard]] bool same_as(const Mixup& other) const {
    return starter == other.starter && blocker == other.blocker && number == other.number &&
           step == other.step && met == other.met;
  }
};

// `desks` are those of the team's blocking collectives.
using Desks = std::span<segment::Desk* const>;

// The owner of `mine` starts a nonblocking collective; `after`: the last step of its blocking ones.
void publish_start(segment::Desk& mine, segment::Step after, std::uint64_t call);

// The first call after step `after` of which the owner of `desk` has posted a step; 0: none, or too
// many since.
[[nodiscard]] std::uint64_t call_after(segment::Desk& desk, segment::Step after);

// What `rank` sees, which waits in a blocking collective whose first step is `first`.
[[nodiscard]] std::optional<Mixup> find_mixup_in_call(Desks desks, int rank, segment::Step first,
                                                      std::uint64_t call);

// What `rank` sees, which waits for a nonblocking collective that it has started.
[[nodiscard]] std::optional<Mixup> find_mixup_in_wait(Desks desks, int rank);

}  // namespace tutti::engine
