// SPDX-License-Identifier: BSD-3-Clause
// The collectives, as a list; see collectives.def for the table.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti {

#define TUTTI_BARRIER(name, Name) TUTTI_COLLECTIVE(name, Name, none, nothing, )

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

// What the root does, if one member is that; and what members get of all operands: the whole, a
// part each, or what the ranks up to theirs give.
enum class Root : std::uint8_t { none, sends, receives };
enum class Computed : std::uint8_t { nothing, whole, parts, prefixes };

[[nodiscard]] constexpr Root root_of(Collective collective) {
  constexpr Root roots[] = {
#define TUTTI_COLLECTIVE(name, Name, root, ...) Root::root,
#include "base/collectives.def"
#undef TUTTI_COLLECTIVE
  };
  return roots[static_cast<std::size_t>(collective)];
}

[[nodiscard]] constexpr Computed computed_by(Collective collective) {
  constexpr Computed computed[] = {
#define TUTTI_COLLECTIVE(name, Name, root, computed, ...) Computed::computed,
#include "base/collectives.def"
#undef TUTTI_COLLECTIVE
  };
  return computed[static_cast<std::size_t>(collective)];
}

[[nodiscard]] constexpr bool is_rooted(Collective collective) {
  return root_of(collective) != Root::none;
}

// Whether it combines operands.
[[nodiscard]] constexpr bool computes(Collective collective) {
  return computed_by(collective) != Computed::nothing;
}

[[nodiscard]] constexpr bool is_scan(Collective collective) {
  return computed_by(collective) == Computed::prefixes;
}

// Whether each member gets a part of the result.
[[nodiscard]] constexpr bool scatters_result(Collective collective) {
  return computed_by(collective) == Computed::parts;
}

// Whether members have blocks for each other, and not one vector, or nothing.
[[nodiscard]] constexpr bool has_blocks(Collective collective) {
  if (computes(collective)) return scatters_result(collective);
  return collective != Collective::barrier && collective != Collective::bcast;
}

// Whether nobody is through before all have come.
[[nodiscard]] constexpr bool all_wait_for_all(Collective collective) {
  return !is_rooted(collective) && !is_scan(collective);
}

// Some of the collectives, a bit each.
using Collectives = std::uint32_t;
static_assert(collective_count <= 32);
[[nodiscard]] constexpr Collectives bit_of(Collective collective) {
  return Collectives{1} << static_cast<int>(collective);
}

#undef TUTTI_BARRIER

}  // namespace tutti
