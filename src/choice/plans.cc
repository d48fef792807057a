// SPDX-License-Identifier: BSD-3-Clause
#include "choice/plans.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/options.h"
#include "segment/desk.h"

namespace tutti::choice {
namespace {

constexpr std::size_t most = std::numeric_limits<std::size_t>::max();

// The sizes at which another algorithm may become the cheapest: all that a line has room for, where
// costs jump; eight an octave; and where needs end to be met.
std::vector<std::size_t> sizes(std::span<const Algorithm> table, int ranks) {
  constexpr std::size_t first = 64, last = std::size_t{64} << 20;
  std::vector<std::size_t> sizes(segment::payload_bytes + 1);
  std::iota(sizes.begin(), sizes.end(), std::size_t{0});
  for (std::size_t octave = first; octave < last; octave *= 2)
    for (std::size_t eighth = 0; eighth < 8; ++eighth)
      sizes.push_back(octave + octave / 8 * eighth);
  for (const Algorithm& algorithm : table) {
    const std::size_t fits = most_bytes(algorithm.needs, ranks);
    if (fits != most) sizes.push_back(fits + 1);
  }
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

int cheapest(std::span<const Algorithm> table, const Facts& facts, const Costs& costs, int forced) {
  int best = nobody;
  double least = 0;
  for (int i = 0; i < static_cast<int>(table.size()); ++i) {
    const Algorithm& algorithm = table[static_cast<std::size_t>(i)];
    if (!algorithm.fits(facts)) continue;
    if (i == forced) return i;
    const double cost = algorithm.cost(facts, costs);
    if (best == nobody || cost < least) {
      best = i;
      least = cost;
    }
  }
  return best;
}

}  // namespace

std::size_t most_bytes(Needs needs, int ranks) {
  switch (needs) {
    case Needs::nothing:
      return most;
    case Needs::line:
    case Needs::known_line:
      return segment::payload_bytes;
    case Needs::line_of_others:
      return segment::payload_bytes / static_cast<std::size_t>(std::max(1, ranks - 1));
  }
  return 0;
}

bool are_met(Needs needs, const Facts& facts) {
  const bool known = needs == Needs::nothing || needs == Needs::line || facts.bytes > 0;
  return known && facts.bytes <= most_bytes(needs, facts.ranks);
}

void Ladder::add(std::size_t most_bytes, int algorithm) {
  Rung& last = rungs_[static_cast<std::size_t>(count_ - 1)];
  if (last.most_bytes != most && last.algorithm == algorithm) {
    last.most_bytes = most_bytes;
  } else {
    if (last.most_bytes != most && count_ < most_rungs) ++count_;
    rungs_[static_cast<std::size_t>(count_ - 1)] = {most_bytes, algorithm};
  }
}

int place_of(std::span<const Algorithm> table, std::string_view name) {
  for (std::size_t i = 0; i < table.size(); ++i)
    if (table[i].name == name) return static_cast<int>(i);
  return nobody;
}

std::string_view wanted(Collective collective) {
  const char* const names[] = {
#define TUTTI_COLLECTIVE(name, ...) options().name,
#define TUTTI_BARRIER TUTTI_COLLECTIVE
#include "base/collectives.def"
#undef TUTTI_COLLECTIVE
#undef TUTTI_BARRIER
  };
  const std::string_view name = names[static_cast<std::size_t>(collective)];
  return name == "auto" ? "" : name;
}

Ladder make_ladder(std::span<const Algorithm> table, int ranks, const Costs& costs, int forced) {
  Ladder ladder;
  if (table.empty()) {
    ladder.add(most, nobody);
    return ladder;
  }
  const std::vector<std::size_t> starts = sizes(table, ranks);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const bool is_last = i + 1 == starts.size();
    ladder.add(is_last ? most : starts[i + 1] - 1,
               cheapest(table, {ranks, starts[i]}, costs, forced));
  }
  return ladder;
}

}  // namespace tutti::choice
