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
#include <unordered_map>

#include "choice/forced.h"
#include "coll/leaders/way.h"

namespace tutti::mpi {

struct Said {
  // Of `facts`. The logarithm of the largest tag comes behind them.
  static constexpr std::uint32_t serialized = 1, contested = 2, shares_core = 4, lacks_core = 8,
                                 has_options = 16;
  static constexpr int tag_shift = 8;

  std::int32_t host;  // as SharedLinks::open() has it
  std::uint32_t facts;
  std::uint32_t machine;  // equal on one machine, and hardly on two
};
static_assert(sizeof(Said) == 12);

// The MPIs' largest tags are powers of two less 1. Any other one counts as the next lower of these.
[[nodiscard]] constexpr std::uint32_t fact_of_tag(int largest_tag) {
  const auto tags = static_cast<std::uint32_t>(std::max(0, largest_tag)) + 1;
  return static_cast<std::uint32_t>(std::bit_width(tags) - 1) << Said::tag_shift;
}

// What all ranks of a job have said.
struct Heard {
  std::uint32_t facts = 0;  // of any rank
  int largest_tag = std::numeric_limits<int>::max();
  // Ranks of several nodes may be on one machine: one of them says no host, or has another one.
  bool may_share_machines = false;
  bool has_two_hosts = false;  // at least, whose ranks may be linked
};
[[nodiscard]] inline Heard hear(std::span<const Said> said) {
  Heard heard;
  std::unordered_map<std::uint32_t, std::int32_t> hosts;  // by machine
  const auto known = std::ranges::find_if(said, [](const Said& each) { return each.host >= 0; });
  const Said* last = nullptr;
  for (const Said& each : said) {
    heard.facts |= each.facts;
    const std::uint32_t tags = std::uint32_t{1} << (each.facts >> Said::tag_shift);
    heard.largest_tag = std::min(heard.largest_tag, static_cast<int>(tags - 1));
    heard.has_two_hosts = heard.has_two_hosts || (each.host >= 0 && each.host != known->host);
    // Most ranks are where the one before is.
    if (last == nullptr || each.host < 0 || each.host != last->host ||
        each.machine != last->machine) {
      const auto [first, is_first] = hosts.try_emplace(each.machine, each.host);
      const bool same = is_first || (each.host >= 0 && each.host == first->second);
      heard.may_share_machines = heard.may_share_machines || !same;
    }
    last = &each;
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
