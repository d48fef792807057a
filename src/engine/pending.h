// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "choice/learned.h"
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
};

}  // namespace tutti::engine
