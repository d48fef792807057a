// SPDX-License-Identifier: BSD-3-Clause
// What is said of a collective that has ended, and of who may run one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti::fabric {

// How a collective moved its bytes, for the account. `messages`: between nodes, whatever the way
// inside them.
enum class Route : std::uint8_t { line, staged, mapped, copied, messages };
inline constexpr std::size_t route_count = 5;

// Who runs a nonblocking algorithm: the rank itself, while it waits or tests, or its progress
// thread. Either may, unless the algorithm has said which.
enum class Executor : std::uint8_t { either, rank, progress };

}  // namespace tutti::fabric
