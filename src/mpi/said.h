// SPDX-License-Identifier: BSD-3-Clause
// What the ranks of a job on several nodes say of themselves in MPI_Init, and what follows from it;
// the same on all. There may be many thousands of them, so each says little. What few jobs need
// they tell each other apart.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <span>

#include "choice/forced.h"
#include "coll/leaders/way.h"
#include "topology/topology.h"

namespace tutti::mpi {

struct Said {
  // Of `facts`. The logarithm of the largest tag comes behind them.
  static constexpr std::uint32_t serialized = 1, contested = 2, shares_core = 4, lacks_core = 8,
                                 has_options = 16, unlinked = 32;
  static constexpr int tag_shift = 8;

  topology::Claim claim;
  std::uint32_t facts;

  [[nodiscard]] std::int32_t host() const {  // as SharedLinks::open() has it
    return (facts & unlinked) != 0 ? -1 : claim.node;
  }
};
static_assert(sizeof(Said) == 24);

// The MPIs' largest tags are powers of two less 1. Any other one counts as the next lower of these.
[[nodiscard]] constexpr std::uint32_t fact_of_tag(int largest_tag) {
  const auto tags = static_cast<std::uint32_t>(std::max(0, largest_tag)) + 1;
  return static_cast<std::uint32_t>(std::bit_width(tags) - 1) << Said::tag_shift;
}

// What all ranks of a job have said.
struct Heard {
  std::uint32_t facts = 0;  // of any rank
  int largest_tag = std::numeric_limits<int>::max();
  bool has_two_hosts = false;  // at least, whose ranks may be linked
};
[[nodiscard]] inline Heard hear(std::span<const Said> said) {
  Heard heard;
  std::int32_t first = -1;
  for (const Said& each : said) {
    heard.facts |= each.facts;
    const std::uint32_t tags = std::uint32_t{1} << (each.facts >> Said::tag_shift);
    heard.largest_tag = std::min(heard.largest_tag, static_cast<int>(tags - 1));
    const std::int32_t host = each.host();
    if (first < 0) first = host;
    heard.has_two_hosts = heard.has_two_hosts || (host >= 0 && host != first);
  }
  return heard;
}

// What options say, where a rank has any of these.
struct SaidOptions {
  std::int64_t packed_bytes, longest_message;
  std::int32_t leaders;
  choice::Forced forced;
};
static_assert(sizeof(SaidOptions) == 40);

[[nodiscard]] inline bool has_options(const coll::leaders::Way& way, std::size_t longest_message) {
  const coll::leaders::Way usual;
  return way.packed_bytes != usual.packed_bytes || way.leaders != usual.leaders ||
         way.forced != usual.forced || longest_message != 0;
}
// What rank 0 says is so on all, but of the forced algorithms what any rank says.
inline void follow(std::span<const SaidOptions> said, coll::leaders::Way& way,
                   std::size_t& longest_message) {
  for (const SaidOptions& each : said) way.forced = choice::merge(way.forced, each.forced);
  way.leaders = said[0].leaders;
  way.packed_bytes = static_cast<std::size_t>(said[0].packed_bytes);
  longest_message = static_cast<std::size_t>(said[0].longest_message);
}

}  // namespace tutti::mpi
