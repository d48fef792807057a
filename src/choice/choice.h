// SPDX-License-Identifier: BSD-3-Clause
// choice: which algorithm a call takes, decided in one place.
//
//   costs.h    what things cost on a machine, and what is made of them
//   limits.h   the sizes that no cost decides
//   plans.h    for each collective, which algorithm is taken up to which size
//   forced.h   those that options ask for
//   measure.h  how two ranks find the costs of their machine
//   kept.h     where a machine's costs are kept
//   learned.h  what no cost tells, and is learned from the program's own calls
//
// An algorithm says what it needs and what it costs (Algorithm, below). What all members know alike
// of a call is in Facts. Among the algorithms whose needs are met the cheapest is taken, so all
// members take the same one: they have agreed on the costs when they met. Words: docs/glossary.md.
#pragma once

#include <cstddef>
#include <cstdint>

#include "choice/costs.h"
#include "choice/limits.h"

namespace tutti::choice {

struct Facts {
  int ranks = 0;
  std::size_t bytes = 0;  // 0: none, or not all members know how many
};

enum class Needs : std::uint8_t {
  nothing,
  line,            // what a call is about fits the payload of a line
  known_line,      // the same, and all members know that: there are bytes, and they fit
  line_of_others,  // the same of a block for each other member
};
// The most bytes with which the needs are met.
[[nodiscard]] std::size_t most_bytes(Needs needs, int ranks);
[[nodiscard]] bool are_met(Needs needs, const Facts& facts);

struct Algorithm {
  const char* name;
  const char* description;
  Needs needs;
  // In ns, for the slowest member, in the caches.
  double (*cost)(const Facts&, const Costs&);

  [[nodiscard]] bool fits(const Facts& facts) const { return are_met(needs, facts); }
};

}  // namespace tutti::choice
