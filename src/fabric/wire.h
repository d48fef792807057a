// SPDX-License-Identifier: BSD-3-Clause
// What members on different nodes talk over: messages. A second, smaller concept beside Fabric,
// whose members share memory. Providers: `message_wire` (messages of a library, waits block), and
// lab/sim_wire.h (a seeded scheduler draws when a message arrives). Words: docs/glossary.md.
//
//   send(to, from, n)     starts to send n bytes to a member, which stay as they are until done
//   receive(from, to, n)  starts to receive n bytes from a member: the next of its messages; both
//                         may say that none of them is to come before (Whole, messages.h)
//   done(ticket)          awaits that this message and all that were started before it are done
//   mismatch(q, theirs, mine)  a member is in another call than this one
//   truncation(q, n, m)   it sends n bytes, and this one has room for m
//   scratch(n)            memory of this rank's own for n bytes, until the collective ends; to be
//                         asked for once
//
// The nth message that is received from a member is the nth that it sends. A message is of this
// rank's own memory: a network reads and writes that by itself, and does not see what becomes of
// another process's.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "fabric/fabric.h"
#include "fabric/messages.h"

namespace tutti::fabric {

using Ticket = std::uint64_t;  // messages are counted from 1 on; 0: none

template <class W>
concept Wire =
    requires(W& w, int member, const void* from, void* to, std::size_t bytes, Ticket ticket) {
      { w.send(member, from, bytes) } -> std::same_as<Ticket>;
      { w.receive(member, to, bytes) } -> std::same_as<Ticket>;
      { w.done(ticket) } -> Awaitable;
      { w.scratch(bytes) } -> std::same_as<std::byte*>;
    };

}  // namespace tutti::fabric
