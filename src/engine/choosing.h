// SPDX-License-Identifier: BSD-3-Clause
// What a member learns from its calls: which stores, and which way, are the faster ones.
#pragma once

#include "engine/pending.h"

namespace tutti::engine {

// A blocking call of these choices has taken so long.
void learn(const Choices& choices, std::uint64_t ticks, std::size_t moved, fabric::Route route);
// A nonblocking one has ended.
void learn(const Pending& pending);

}  // namespace tutti::engine
