// SPDX-License-Identifier: BSD-3-Clause
// The kinds of calls, and what calls have moved.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/collective.h"
#include "fabric/messages.h"
#include "fabric/route.h"

namespace tutti::engine {

// The kinds of calls: the blocking collectives, and behind them the nonblocking ones.
inline constexpr std::size_t kinds = 2 * collective_count;
[[nodiscard]] constexpr std::size_t kind_of(Collective collective, bool blocking) {
  return static_cast<std::size_t>(collective) + (blocking ? 0 : collective_count);
}

// "Allreduce", "Iallreduce".
[[nodiscard]] std::array<char, 32> name_of_kind(std::size_t kind);

inline constexpr const char* route_names[fabric::route_count] = {"line", "bounce", "commons", "cma",
                                                                 "messages"};

// What was moved, summed over the teams of this process; plain data, so that it can be exchanged.
struct Account {
  std::array<std::uint64_t, kinds> calls{};
  std::array<std::uint64_t, kinds> bytes{};
  std::array<std::uint64_t, fabric::route_count> route_bytes{};
  // Between nodes, as their senders count.
  std::array<fabric::Sent, kinds> sent{};
  std::array<fabric::Sent, kinds> without_leaders{};  // the same of without_leaders.h

  Account& operator+=(const Account& other);
  // Counts one call; returns the name of its way.
  const char* add(std::size_t kind, std::size_t moved, fabric::Route route) {
    const auto way = static_cast<std::size_t>(route);
    ++calls[kind];
    bytes[kind] += moved;
    route_bytes[way] += moved;
    return route_names[way];
  }
  void add(std::size_t kind, const fabric::Sent& by_leaders, const fabric::Sent& by_ranks) {
    sent[kind] += by_leaders;
    without_leaders[kind] += by_ranks;
  }
};

}  // namespace tutti::engine
