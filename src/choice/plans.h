// SPDX-License-Identifier: BSD-3-Clause
// For each collective, which of its algorithms is taken up to which size. Made once for a number of
// ranks, and kept: to choose is to look up.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "base/collective.h"
#include "choice/choice.h"
#include "choice/forced.h"

namespace tutti::choice {

// Which algorithm a table's calls take. Algorithms are told apart by their place in the table.
class Ladder {
 public:
  static constexpr int most_rungs = 8;

  [[nodiscard]] int at(std::size_t bytes) const {
    const Rung* rung = rungs_.data();
    while (bytes > rung->most_bytes) ++rung;
    return rung->algorithm;
  }

  // From the least size on; the last rung ends with the largest size of all.
  struct Rung {
    std::size_t most_bytes = std::numeric_limits<std::size_t>::max();
    int algorithm = 0;
  };
  [[nodiscard]] std::span<const Rung> rungs() const {
    return std::span(rungs_).first(static_cast<std::size_t>(count_));
  }
  // Sizes up to `most_bytes`, from those of the rung before on, take `algorithm`. Where there are
  // too many rungs, the last one takes the place of the one before: what fits larger sizes fits
  // smaller ones, too.
  void add(std::size_t most_bytes, int algorithm);

 private:
  std::array<Rung, most_rungs> rungs_{};
  int count_ = 1;
};

inline constexpr int nobody = -1;  // no algorithm is forced

// `forced`: the one that is taken where its needs are met, or nobody. The needs of some algorithm
// of the table are met by all facts.
[[nodiscard]] Ladder make_ladder(std::span<const Algorithm> table, int ranks, const Costs& costs,
                                 int forced = nobody);

// The place in a table of the algorithm of that name, or nobody.
[[nodiscard]] int place_of(std::span<const Algorithm> table, std::string_view name);

// The name that the collective's option asks for (TUTTI_ALLREDUCE and so on); "" for auto.
[[nodiscard]] std::string_view wanted(Collective collective);

struct Plans {
  Costs costs;
  // Those of coll/tables.h, and behind them those of coll/late/rows.h.
  std::array<Ladder, std::size_t{2} * collective_count> tables;

  [[nodiscard]] static constexpr std::size_t table_of(Collective collective, bool late) {
    return static_cast<std::size_t>(collective) + (late ? collective_count : 0);
  }
};

}  // namespace tutti::choice
