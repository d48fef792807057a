// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include "os/affinity.h"
#include "segment/wait.h"

namespace tutti::progress {

// Where the progress thread runs, and how it and the rank wait.
struct Settings {
  bool thread = true;                    // false: only the rank's own calls bring anything forward
  std::optional<os::CpuMask> cpus = {};  // nullopt: where the rank does
  bool dedicated = false;                // no rank runs there
  segment::WaitPolicy wait_policy = {};  // of the rank

  // Whether the thread has a core for itself.
  [[nodiscard]] bool is_served() const { return thread && dedicated; }
};

}  // namespace tutti::progress
