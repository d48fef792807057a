// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace tutti::engine {

// How a collective ended. After any error the team serves no more collectives of that kind,
// blocking or nonblocking: later calls end with `peer_error`, `refused` or `left` (see
// engine/leaving.h).
enum class ErrorCode : std::uint8_t {
  none,
  mismatched,   // members called different things
  truncated,    // one sends more than another has room for
  lost,         // a member's process has ended
  unreachable,  // a buffer could not be read or written
  unasked,      // this member has sent all it has; the receiver has less room and says so
  peer_error,   // another member has met one of these, and has said so
  refused,      // an earlier call has failed, and this one has not begun
  left,         // the call is the MPI's, as are all later ones, on all members
};

}  // namespace tutti::engine
