// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "choice/learned.h"
#include "choice/limits.h"
#include "engine/error_code.h"
#include "progress/operation.h"

namespace tutti::engine {

// What a member has chosen for a call of its own, and will learn from.
struct Choices {
  choice::Learner::Choice stores;  // plain or streaming
  choice::Learner::Choice cico;    // the kernel's copy or the node segment
};

// A nonblocking collective, from Team::start() to Team::finish().
struct Pending : progress::Operation {
  Choices choices;
  ErrorCode error_code = ErrorCode::peer_error;  // of one that has not succeeded
  // A copy of an operand of few bytes, where members are on several nodes.
  alignas(std::max_align_t) std::array<std::byte, limits::kept_operand_bytes> operand;
};

}  // namespace tutti::engine
