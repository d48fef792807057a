// SPDX-License-Identifier: BSD-3-Clause
// The collectives, as a list; see collectives.def for the table.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti {

enum class Collective : std::uint8_t {
#define TUTTI_COLLECTIVE_NAME(name, text, rooted) name,
#include "base/collectives.def"
#undef TUTTI_COLLECTIVE_NAME
};

inline constexpr int collective_count = 0
#define TUTTI_COLLECTIVE_NAME(name, text, rooted) +1
#include "base/collectives.def"
#undef TUTTI_COLLECTIVE_NAME
    ;

[[nodiscard]] constexpr const char* name_of(Collective collective) {  // "Barrier", ...
  constexpr const char* names[] = {
#define TUTTI_COLLECTIVE_NAME(name, text, rooted) #text,
#include "base/collectives.def"
#undef TUTTI_COLLECTIVE_NAME
  };
  const auto index = static_cast<std::size_t>(collective);
  return index < std::size_t{collective_count} ? names[index] : "?";
}

[[nodiscard]] constexpr bool is_rooted(Collective collective) {
  constexpr bool rooted[] = {
#define TUTTI_COLLECTIVE_NAME(name, text, rooted) rooted,
#include "base/collectives.def"
#undef TUTTI_COLLECTIVE_NAME
  };
  return rooted[static_cast<std::size_t>(collective)];
}

}  // namespace tutti
