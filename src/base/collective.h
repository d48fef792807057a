// SPDX-License-Identifier: BSD-3-Clause
// The collectives, as a list; see collectives.def for the table.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti {

#define TUTTI_BARRIER(name, Name) TUTTI_COLLECTIVE(name, Name, false, )

enum class Collective : std::uint8_t {
#define TUTTI_COLLECTIVE(name, Name, ...) name,
#include "base/collectives.def"
#undef TUTTI_COLLECTIVE
};

inline constexpr int collective_count = 0
#define TUTTI_COLLECTIVE(name, Name, ...) +1
#include "base/collectives.def"
#undef TUTTI_COLLECTIVE
    ;

[[nodiscard]] constexpr const char* name_of(Collective collective) {  // "Barrier", ...
  constexpr const char* names[] = {
#define TUTTI_COLLECTIVE(name, Name, ...) #Name,
#include "base/collectives.def"
#undef TUTTI_COLLECTIVE
  };
  const auto index = static_cast<std::size_t>(collective);
  return index < std::size_t{collective_count} ? names[index] : "?";
}

[[nodiscard]] constexpr bool is_rooted(Collective collective) {
  constexpr bool rooted[] = {
#define TUTTI_COLLECTIVE(name, Name, rooted, ...) rooted,
#include "base/collectives.def"
#undef TUTTI_COLLECTIVE
  };
  return rooted[static_cast<std::size_t>(collective)];
}

// Whether it combines operands.
[[nodiscard]] constexpr bool computes(Collective collective) {
  switch (collective) {
    case Collective::reduce:
    case Collective::allreduce:
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_block:
    case Collective::scan:
    case Collective::exscan:
      return true;
    default:
      return false;
  }
}

[[nodiscard]] constexpr bool is_scan(Collective collective) {
  return collective == Collective::scan || collective == Collective::exscan;
}

// Whether each member gets a part of the result.
[[nodiscard]] constexpr bool scatters_result(Collective collective) {
  return collective == Collective::reduce_scatter || collective == Collective::reduce_scatter_block;
}

#undef TUTTI_BARRIER

}  // namespace tutti
