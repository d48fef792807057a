// SPDX-License-Identifier: BSD-3-Clause
// What things cost on a machine: a few times, measured between two ranks, from which the cost of
// every algorithm is made. All ranks of a node have the same.
#pragma once

#include <bit>
#include <cstddef>

#include "choice/limits.h"
#include "segment/desk.h"

namespace tutti::choice {

struct Costs {
  // From a member's post to the other's seeing it, ns. The payload lies in the flag's cache line.
  double flag_ns = 73;
  // As much more if the payload goes on in the second cache line, ns.
  double line_ns = 5;
  // A KiB through a slot, ns: the owner stores it, another reads it. If the reader leaves the lines
  // as it has read them, and if it hands them back (segment::hand_back).
  double left_ns = 75;
  double handed_back_ns = 60;
  // 512 bytes through a slot that is handed back, ns, with the flag: as they are, and if the owner
  // has taken the slot back before (segment::reserve).
  double short_ns = 150;
  double reserved_ns = 135;
  // A KiB of another member's buffer, which that one has just written, copied into one's own, ns.
  // At most left_ns and handed_back_ns, whatever was measured: a slot's reader copies, too. So what
  // is large enough always goes directly.
  double copy_ns = 40;
  // A core goes from one thread to another and back, half of it, ns.
  double switch_ns = 1100;
  double sharers = 1;  // so many ranks share a core; not measured
  // These follow from the others and the number of ranks, and are filled in where plans are made:
  // least_direct_bytes(), and coll::reduction::most_whole_bytes() for everyone and for a root.
  std::size_t direct_bytes = 4096;
  std::size_t whole_bytes = 4096, whole_to_root_bytes = 4096;

  // Readers hand slots back. Only a slot's single reader can.
  [[nodiscard]] constexpr bool hands_back() const { return handed_back_ns < left_ns; }
  // Owners take back the slots that they will store in. Less than a twentieth is no gain: where 2
  // to 4 percent were measured, Bcasts of 512 B and 1 KiB took a tenth longer, or more.
  [[nodiscard]] constexpr bool reserves() const { return reserved_ns < 0.95 * short_ns; }
  [[nodiscard]] constexpr double slot_ns(int readers) const {
    return readers == 1 && hands_back() ? handed_back_ns : left_ns;
  }
  // A KiB that one member reads in another's memory, and stores in memory that another one reads.
  // As much as through a slot, or as two copies: what both say is no exact time.
  [[nodiscard]] constexpr double passed_ns() const {
    return left_ns < 2 * copy_ns ? left_ns : 2 * copy_ns;
  }
  [[nodiscard]] constexpr bool shares_cores() const { return sharers > 1; }
  // A step that all members wait for takes so much longer where ranks share cores: each of them
  // needs its turn on a core.
  [[nodiscard]] constexpr double turn_ns() const { return shares_cores() ? switch_ns : 0; }
  // One flag more that all members wait for.
  [[nodiscard]] constexpr double step_ns() const { return flag_ns + turn_ns(); }
};

// Of an AMD EPYC with 2 cores (Zen 4, a virtual machine): where nothing has been measured.
inline constexpr Costs usual{};

// A sender that chooses for itself leaves blocks from this size on where they are. To pack smaller
// ones takes less than to wait until the receivers are through. 2, 4 or 8 KiB, and 16 KiB where
// ranks share cores.
[[nodiscard]] std::size_t least_direct_bytes(const Costs& costs);

// Where so many ranks share a core (1 or less: none do), on a machine where ranks with a core each
// have these costs. Estimates are then of a rank's own time on its core, which all that share it
// need one after the other. What they copy costs 0.3 to 1.2 times as much (4, 8 and 16 ranks on 2
// cores): others on their core have read it before, but leave little room in its caches. So that is
// left as it is.
[[nodiscard]] constexpr Costs on_shared_cores(Costs costs, double ranks_per_core) {
  costs.sharers = ranks_per_core > 1 ? ranks_per_core : 1;
  return costs;
}

// What a flag's own cache line has room for, beside the flag.
inline constexpr std::size_t first_line_bytes = 64 - offsetof(segment::Line, payload);

// What algorithms are made of, in ns.

// So many flags are seen, each with so many bytes. They are fetched together: only the first takes
// its whole time, and each further one a third of it. (That is assumed, not measured.)
[[nodiscard]] constexpr double flags_ns(const Costs& costs, int flags, std::size_t bytes) {
  const double second_line = bytes > first_line_bytes ? costs.line_ns : 0;
  return costs.flag_ns * (1 + (flags - 1) / 3.0) + second_line;
}
// Everyone has seen the posts of so many members.
[[nodiscard]] constexpr double posts_ns(const Costs& costs, int members, std::size_t bytes) {
  return flags_ns(costs, members, bytes) + costs.turn_ns();
}
// Rounds in which the distance between members doubles: ceil(log2 ranks) flags, one after another.
[[nodiscard]] constexpr double rounds_ns(const Costs& costs, int ranks) {
  return costs.step_ns() * std::bit_width(static_cast<unsigned>(ranks > 1 ? ranks - 1 : 0));
}
// The first line of a slot with so many bytes. Readers ask for it only when they have seen the
// flag, and its owner has to take it back before it stores. Of few bytes that is most of what they
// cost: what 512 bytes took, but for those bytes themselves.
[[nodiscard]] constexpr double first_slot_line_ns(const Costs& costs, double bytes) {
  const double asked = costs.flag_ns / 3;
  if (bytes >= limits::least_reserved_bytes) return asked;
  const double measured = costs.short_ns - costs.flag_ns - costs.handed_back_ns / 2;
  return measured > asked ? measured : asked;
}
// So many bytes through the slots of one member, read by so many at once.
[[nodiscard]] constexpr double slots_ns(const Costs& costs, double bytes, int readers) {
  return first_slot_line_ns(costs, bytes) + costs.slot_ns(readers) * bytes / 1024;
}
// The same where the owner fills a slot while the others drain another one. To drain is to copy.
[[nodiscard]] constexpr double piped_slots_ns(const Costs& costs, double bytes, int readers) {
  const double filling = costs.slot_ns(readers) - costs.copy_ns;
  const double slower = filling > costs.copy_ns ? filling : costs.copy_ns;
  return first_slot_line_ns(costs, bytes) + slower * bytes / 1024;
}
// So many bytes from one buffer to another.
[[nodiscard]] constexpr double copies_ns(const Costs& costs, double bytes) {
  return costs.copy_ns * bytes / 1024;
}
// Everyone knows where the buffers of so many members are, and later that they are free again.
[[nodiscard]] constexpr double meeting_ns(const Costs& costs, int members) {
  return posts_ns(costs, members, 0) + costs.step_ns();
}

}  // namespace tutti::choice
