// SPDX-License-Identifier: BSD-3-Clause
// What one member of a team writes for the others to read: its desk. It is plain data in shared
// memory, valid when all its bytes are zero. Others write into its slots alone: after the owner has
// posted them, and before they say that they are through with the step.
//
// Steps count up from 1 and are the same on all members. Step `s` uses line and staging slot
// s modulo their number of each desk. A line has one writer, its owner. Nothing is ever reset, so
// no second barrier is needed: a member that waits knows the step that it waits for.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "arch/arch.h"
#include "base/bits.h"

namespace tutti::segment {

using Step = std::uint64_t;

inline constexpr std::uint64_t most_members = 4096;
inline constexpr std::size_t ring = 32;            // lines of a desk
inline constexpr std::size_t slots = 8;            // staging slots of a desk
inline constexpr std::size_t payload_bytes = 112;  // what rides in a flag's own line
inline constexpr std::size_t staging_bytes = std::size_t{32} << 10;  // of one slot

// A flag and what rides with it.
struct alignas(line_bytes) Line {
  std::atomic<Step> step;  // stored with release after `call` and `payload`
  std::uint64_t call;      // what its owner is calling, see engine/call_signature.h
  std::byte payload[payload_bytes];
};
static_assert(sizeof(Line) == line_bytes);

// The owner's work of one step, cut into chunks that any member may take. The owner takes from the
// front, the others from the back. So a chunk tends to meet the same core's cache again in the next
// call. Both words hold the step in their upper bits, so that a member that comes late can neither
// take nor report a chunk of another step. The lower bits of `claimed` count the chunks taken at
// the front (12 bits) and at the back (12 bits). Those of `landed` count the chunks done (24 bits).
struct alignas(line_bytes) Share {
  std::atomic<std::uint64_t> claimed;
  alignas(line_bytes) std::atomic<std::uint64_t> landed;
};
inline constexpr unsigned share_front_bits = 12;
inline constexpr unsigned share_count_bits = 24;
inline constexpr std::uint32_t most_chunks = (1u << share_front_bits) - 1;

// The nonblocking collectives that the owner has started; they need not have taken a step yet.
// `latest` holds the last ones, each at its number modulo `kept`: what it is, and the last step of
// the blocking ones before it. A new one overwrites the oldest.
struct alignas(line_bytes) Starts {
  static constexpr std::uint64_t kept = 7;
  struct Start {
    std::atomic<Step> after;
    std::atomic<std::uint64_t> call;
  };
  std::atomic<std::uint64_t> count;  // stored with release after `latest`
  Start latest[kept];
};
static_assert(sizeof(Starts) == line_bytes);

// How the owner of a desk has left the others.
enum class Ending : std::uint32_t {
  none,
  left,    // for good, with all the others: the MPI goes on
  broken,  // somebody is lost, or nobody knows what the others call: every later call fails
};

struct Desk {
  Line lines[ring];
  // The owner reads and writes nothing more of any step up to this one.
  alignas(line_bytes) std::atomic<Step> done;
  // An Ending, or 0. Not 0: the owner takes part in no more collectives of this team. It has met an
  // error, been told of one, or revoked the team.
  std::atomic<std::uint32_t> failed;
  // A bit for each staging slot that the owner has ever written: it has pages.
  std::atomic<std::uint32_t> staged;
  // Of blocking collectives, see engine/leaving.h. 2n - 1 while the owner is in its nth, 2n when
  // that is over. Others read this cache line only after an error, so it stays with the owner.
  alignas(line_bytes) std::atomic<std::uint64_t> calls;
  // The first call that has met an error, as far as members have said so on this desk; or 0.
  std::atomic<std::uint64_t> stopped;
  // The call in which the owner had too little room for what was sent; or 0.
  std::atomic<std::uint64_t> cut;
  // The call in which the owner has failed and gives its buffers back; or 0.
  std::atomic<std::uint64_t> withdrawn;
  // Of nonblocking collectives, whose `calls` are starts: the same as `calls`, for the one that is
  // under way. Written by the thread that drives.
  alignas(line_bytes) std::atomic<std::uint64_t> running;
  // How many members sleep on a word of this desk: the owner wakes them when it changes one.
  alignas(line_bytes) std::atomic<std::uint32_t> sleepers;
  // A member has revoked the team. It says so on every desk before it sets `failed`.
  std::atomic<std::uint32_t> revoked;
  Share share;
  Starts starts;  // on the desks of blocking collectives
  alignas(page_bytes) std::byte staging[slots][staging_bytes];

  // To be called by the owner before it writes into the slot.
  void note_staged(std::size_t slot) {
    const std::uint32_t seen = staged.load(std::memory_order_relaxed), bit = 1u << slot;
    if ((seen & bit) == 0) [[unlikely]]
      staged.store(seen | bit, std::memory_order_relaxed);
  }
  // Members that wait for the owner look at `failed`.
  void fail(Ending how) {
    failed.store(static_cast<std::uint32_t>(how), std::memory_order_release);
  }
  [[nodiscard]] bool ended(Ending how) const {
    return failed.load(std::memory_order_acquire) == static_cast<std::uint32_t>(how);
  }
};
static_assert(sizeof(Desk) <= (std::size_t{1} << 20), "at most 1 MiB a rank");

// For the only member that reads these bytes of a slot, after it has read them and before it says
// so. It writes a byte of each cache line back as it is. Nothing changes, but the lines are now
// modified in its core, and the owner's next stores fetch them whole. The owner would have to make
// lines exclusive again that were only read. That takes some processors up to four times as long,
// and others less (docs/algorithms.md, "Slots").
inline void hand_back(std::byte* read, std::size_t bytes) {
  constexpr std::size_t line = 64;
  volatile std::byte* const at = read;
  for (std::size_t i = 0; i < bytes; i += line) at[i] = at[i];
  at[bytes - 1] = at[bytes - 1];
}

// For the owner of a slot that its readers are through with: takes its first lines back from them,
// to store there soon. Only a hint.
inline void reserve(const std::byte* slot, std::size_t bytes) {
  constexpr std::size_t line = 64;
  for (std::size_t i = 0; i < bytes; i += line) arch::prefetch_for_writing(slot + i);
}

}  // namespace tutti::segment
