// SPDX-License-Identifier: BSD-3-Clause
// fabric: what algorithms are written over. One concept, and providers that say how one waits:
// `node` (ranks are processes, waits block) and `suspending` (a thread drives several collectives,
// waits suspend). lab/ has two more, in which ranks are coroutines of one thread. All run the same
// DeskFabric on the same desk layout, so what is simulated is the protocol itself.
// Words: docs/glossary.md.
//
// The protocol. Members count steps; a collective takes the same number of steps on each of them.
//   room(s)       awaits that my line of step s is no longer read by anyone
//   staging_room(s)  the same for my line and my staging slot
//   post(s, ...)  publishes my payload of step s (after room(s) only); post_with(s, fill) lets
//                 fill(to) write it
//   posted(q, s)  awaits and yields q's payload of step s, as payload(q, s) does afterwards
//   finish(s)     says that I read nothing more of any step up to s; at the end of a collective,
//                 and in one of many steps as it goes, before their lines are needed again
//   drained(s)    awaits that all the others have finished s: my buffers are mine again
// Work sharing, for collectives in which anybody can do anybody's part:
//   open_share(s)          before my post of step s: my part of it is open
//   claim(q, s, n)         takes one of q's n chunks, or none (after posted(q, s) only)
//   land(q, s)             the chunk is done
//   landed(q, s, n)        awaits that all of q's chunks are
//   folding(q, s, n)       the same, or that this thread may do them: only threads of the rank may
//                          apply the operation of a late reduction (coll/late/)
// Or a pipe from one member to one other, through its staging slots:
//   produce(s, n)          the first n pieces are there (after open_share(s) and post(s))
//   produced(q, s, n)      awaits that; a piece is then taken out and reported by land(q, s)
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "choice/costs.h"
#include "fabric/route.h"
#include "fabric/task.h"
#include "memory/memory.h"
#include "segment/segment.h"

namespace tutti::fabric {

using memory::best_transport;
using memory::Card;
using memory::no_transport;
using memory::nothing_lent;
using memory::Transport;
using segment::Step;

// How a collective moves its bytes whose buffers are reached like this.
[[nodiscard]] constexpr Route route_of(Transport transport) {
  if (can_map(transport)) return Route::mapped;
  return can_copy(transport) ? Route::copied : Route::staged;
}

using Bytes = std::span<const std::byte>;
inline constexpr std::int64_t no_chunk = -1;

template <class A>
concept Awaitable = requires(A awaitable) {
                      { awaitable.await_ready() } -> std::same_as<bool>;
                      awaitable.await_resume();
                    };

template <class F>
concept Fabric = requires(F& f, int peer, Step step, Bytes payload, std::uint32_t chunks, Card card,
                          void* buffer, const void* source, std::size_t n) {
                   { f.rank() } -> std::same_as<int>;
                   { f.size() } -> std::same_as<int>;
                   // What things cost on this machine; the same on all members.
                   { f.costs() } -> std::same_as<const choice::Costs&>;
                   // What this collective is; the same on all members.
                   { f.call() } -> std::same_as<std::uint64_t>;
                   // Another collective begins, as a part of this one.
                   { f.begin_stage() } -> std::same_as<void>;
                   { f.next_step() } -> std::same_as<Step>;
                   { f.room(step) } -> Awaitable;
                   { f.staging_room(step) } -> Awaitable;
                   { f.post(step, payload) } -> std::same_as<void>;
                   {
                     f.post_with(step, [](std::byte*) {})
                     } -> std::same_as<void>;
                   { f.posted(peer, step) } -> Awaitable;  // yields const std::byte*
                   { f.payload(peer, step) } -> std::same_as<const std::byte*>;  // after that
                   {
                     f.expect(peer, step)
                     } -> std::same_as<void>;  // a hint: posted(peer, step) comes soon
                   { f.finish(step) } -> std::same_as<void>;
                   { f.drained(step) } -> Awaitable;
                   // Every member has posted a step of this collective, any one, so all earlier
                   // collectives are over: saves the next room() a look at each of them.
                   { f.everyone_arrived() } -> std::same_as<void>;
                   // Which way this collective takes; the last call counts.
                   { f.take(Route::line) } -> std::same_as<void>;
                   // Stand around the parts of a collective that move data: from when its members
                   // have come until all of it is in place. The parts are timed together, and
                   // should take all members equally long. A suspending one leaves waits out.
                   { f.begin_work() } -> std::same_as<void>;
                   { f.end_work() } -> std::same_as<void>;
                   // The same, where any member takes chunks. pause() says how many bytes they
                   // have.
                   { f.begin_shared_work() } -> std::same_as<void>;
                   // This many bytes were moved or computed since the last pause. A simulated rank
                   // may be overtaken here, and its time passes.
                   { f.pause(n) } -> Awaitable;
                   // So were these, in a part that no other thread takes over: a simulated rank's
                   // time passes, and nothing else happens.
                   { f.spend(n) } -> std::same_as<void>;
                   // A hint: this member has done its own part. Ranks that share its core may have
                   // the core before it does the part of others.
                   { f.step_aside() } -> std::same_as<void>;
                   { f.on(Executor::rank) } -> Awaitable;  // goes on there

                   { f.open_share(step) } -> std::same_as<void>;
                   { f.claim(peer, step, chunks) } -> std::same_as<std::int64_t>;
                   { f.land(peer, step) } -> std::same_as<void>;
                   { f.landed(peer, step, chunks) } -> Awaitable;
                   { f.folding(peer, step, chunks) } -> Awaitable;
                   { f.produce(step, chunks) } -> std::same_as<void>;
                   { f.produced(peer, step, chunks) } -> Awaitable;
                   // A member sends more bytes than there is room for.
                   { f.truncation(peer, n, n) } -> std::same_as<void>;

                   // segment::staging_bytes of memory of `peer`, for `step`.
                   { f.staging(peer, step) } -> std::same_as<std::byte*>;
                   // A hint: this member will store so many bytes in its slot of that step soon,
                   // and its readers are mostly through with those that the slot has now.
                   { f.reserve(step, n) } -> std::same_as<void>;
                   { f.offer(source, n) } -> std::same_as<Card>;
                   // Peers will write to this buffer, so its pages are to be this rank's.
                   { f.populate(buffer, n) } -> std::same_as<void>;
                   {
                     f.map(peer, card)
                     } -> std::same_as<std::byte*>;  // nullptr: use read and write
                   { f.read(peer, card, n, buffer, n) } -> std::same_as<void>;
                   { f.write(peer, card, n, source, n) } -> std::same_as<void>;
                   // Memory of this rank's own for `n` bytes, until the collective ends. It moves
                   // with its contents when more is asked for.
                   { f.scratch(n) } -> std::same_as<std::byte*>;
                 };

}  // namespace tutti::fabric
