// SPDX-License-Identifier: BSD-3-Clause
// How two ranks find out together what things cost on their machine.
#pragma once

#include <cstdint>
#include <optional>

#include "choice/costs.h"
#include "segment/desk.h"

namespace tutti::choice {

enum class Role : std::uint8_t { asks, answers };

// Both call this at about the same time, each with its own desk, of a slice that nobody has used
// yet. The one that asks learns the costs. It takes one to four milliseconds, and never longer than
// `patience_ns`: nullopt when the other does not answer, or when the times make no sense. The one
// that answers gets nullopt in any case.
[[nodiscard]] std::optional<Costs> measure(Role role, segment::Desk& mine, segment::Desk& theirs,
                                           std::int64_t patience_ns);

// How long a core takes from one thread to another (Costs::switch_ns). By two threads of this
// process on one core: between processes it takes a little longer. nullopt when there is no second
// thread to be had, or something else keeps the core.
[[nodiscard]] std::optional<double> measure_switch();

// Whether these times can be a machine's.
[[nodiscard]] bool are_plausible(const Costs& costs);

}  // namespace tutti::choice
