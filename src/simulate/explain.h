// SPDX-License-Identifier: BSD-3-Clause
// What would run a call, why, and what the other algorithms would cost, for `tutti explain`.
#pragma once

#include <cstddef>

#include "base/collective.h"
#include "probe/json.h"

namespace tutti::simulate {

struct Question {
  Collective collective = Collective::barrier;
  std::size_t bytes = 0;  // as choice::Facts
  int ranks = 2;
  bool late = false;  // the operation is the program's own
  int cores = 0;      // of the node; 0: as many as ranks
};

// False where the words ask nothing: COLLECTIVE BYTES RANKS LATE CORES, as
// "allreduce 65536 128 0 0".
[[nodiscard]] bool parse(int count, char** words, Question& question);

void explain(const Question& question, probe::Json& json);

}  // namespace tutti::simulate
