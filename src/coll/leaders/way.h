// SPDX-License-Identifier: BSD-3-Clause
// What may be chosen of collectives over nodes; the same on all members.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bits.h"
#include "choice/forced.h"
#include "choice/limits.h"

namespace tutti::coll::leaders {

struct Way {
  // Of a Bcast, Reduce or Scan: the least piece (coll/leaders/tree.h). And so many bytes as take as
  // long as it takes to start one, or a message of a Gather or Scatter (coll/leaders/packed.h).
  std::size_t least_piece_bytes = limits::least_wire_piece_bytes;
  std::size_t start_bytes = limits::wire_start_bytes;
  // How many bytes are sent while a message starts, as it was found out on this network; 0: it was
  // not.
  std::size_t measured_start_bytes = 0;
  // Ranks share cores, on any node: a Scan or Exscan of few bytes goes along a chain, too, where
  // that changes no bit, and the first rank of a node hears there; few bytes of a Scatter go along
  // a tree.
  bool shares_cores = false;
  // Of an Allreduce: up to so many bytes in all rounds leaders exchange it whole (or up to more:
  // most_doubled()), and up to so many for each node in halves. Where the number of nodes is no
  // power of two, both end at the last of these.
  std::size_t doubled_bytes = limits::doubled_bytes;
  std::size_t halved_bytes = limits::halved_bytes;
  std::size_t paired_bytes = limits::paired_bytes;
  // Of a larger one: up to so many bytes for each node, each leader sums up a share.
  std::size_t by_share_bytes = limits::summed_by_share_bytes;
  // Still larger ones go along a ring, of which this is a node's longest slice.
  std::size_t slice_bytes = limits::most_ring_slice_bytes;
  // Of an Allgather of ranks in turns over nodes: the shortest block from which on each passes by
  // itself.
  std::size_t run_bytes = limits::least_run_bytes;
  // Leaders of each node, but at most the members of the smallest one. And how many bytes are worth
  // one: of what an Allreduce has for each node, and of a node's blocks in an Allgather or
  // Reduce_scatter.
  int leaders = limits::leaders;
  std::size_t part_bytes = limits::least_part_bytes;
  std::size_t block_part_bytes = limits::least_block_part_bytes;
  // Slices and parts begin so many bytes apart, or a multiple, where they are a lot longer: memory
  // that is private until it is used becomes one that peers map by whole pages.
  std::size_t grain_bytes = page_bytes;
  // Of an Alltoall, Alltoallv or Alltoallw: blocks up to this size are packed. Where two nodes then
  // have no more than `forwarded_bytes` for each other in an Alltoall, others pass it on, if there
  // are more than `nodes_a_round` nodes for each round of that.
  std::size_t packed_bytes = limits::packed_alltoall_bytes;
  std::size_t forwarded_bytes = limits::forwarded_alltoall_bytes;
  std::size_t nodes_a_round = limits::forwarded_nodes_a_round;
  // Of a Gather or Scatter: up to so many bytes for each node, others pass them on. nullopt: as
  // coll/leaders/packed.h has it.
  std::optional<std::size_t> passed_bytes = std::nullopt;
  // There, blocks of so many bytes and more pass no leader.
  std::size_t direct_bytes = limits::least_direct_bytes;
  // Blocks that pass none go in pieces of so many bytes at most.
  std::size_t most_direct_piece_bytes = limits::wire_piece_bytes;
  // Of a Reduce_scatter: up to so many bytes for each node, leaders exchange ranges of the vector.
  // A round of halving takes as long as it takes to start so many messages.
  std::size_t ranged_bytes = limits::summed_by_range_bytes;
  double round_starts = limits::round_starts;
  // The rows that options ask for: 1 + the place in a collective's table, 0, or forced_mpi.
  choice::Forced forced{};
};

// Where ranks share cores, on any node: whoever waits for a message gives its core away, so fewer
// of them take less time, and when one arrives says little. Nothing here may change which operands
// of a sum meet first.
inline constexpr Way on_shared_cores = {
    .shares_cores = true, .direct_bytes = limits::least_shared_direct_bytes, .round_starts = 1};
// There, the least piece of a Bcast, Reduce or Scan. So many messages in turn does a piece cost, on
// the way from the MPI to the ranks of a node.
[[nodiscard]] constexpr std::size_t shared_piece_bytes(const Way& way) {
  const std::size_t piece = std::bit_floor(limits::shared_piece_starts * way.measured_start_bytes);
  return std::max(way.least_piece_bytes, std::min(piece, limits::shared_wire_piece_bytes));
}
// What was measured makes pieces longer and messages fewer, and never changes in which order
// operands meet.
[[nodiscard]] constexpr std::size_t start_bytes(const Way& way) {
  return std::max(way.start_bytes, way.measured_start_bytes);
}
// Up to so many bytes in all rounds leaders exchange an Allreduce whole: with more, halves save
// what their messages cost. Bits are the same either way.
[[nodiscard]] constexpr std::size_t most_doubled(const Way& way) {
  return std::max(way.doubled_bytes, limits::doubled_starts * way.measured_start_bytes);
}

// What a message costs, as one bit that members agree on: the highest of these levels that it
// reaches, in steps of a quarter of a power of two.
using StartBit = std::uint32_t;
inline constexpr auto start_levels = [] {
  constexpr std::size_t quarters[] = {1024, 1218, 1448, 1722};
  std::array<std::size_t, 25> levels{};
  for (std::size_t i = 0; i < levels.size(); ++i) levels[i] = quarters[i % 4] << i / 4;
  return levels;
}();
static_assert(start_levels.back() == limits::most_start_bytes && start_levels.size() <= 32);
// Of nothing it is no bit.
[[nodiscard]] constexpr StartBit bit_of_start(std::size_t start_bytes) {
  if (start_bytes == 0) return 0;
  const auto above = std::ranges::upper_bound(start_levels, start_bytes) - start_levels.begin();
  return StartBit{1} << std::max<std::ptrdiff_t>(0, above - 1);
}
// As the highest bit says; 0: none does.
[[nodiscard]] constexpr std::size_t start_of_bits(StartBit bits) {
  return bits == 0 ? 0 : start_levels[static_cast<std::size_t>(std::bit_width(bits)) - 1];
}

}  // namespace tutti::coll::leaders
