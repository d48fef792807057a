// SPDX-License-Identifier: BSD-3-Clause
// What tutti-simulate is asked, as name=value words after the collective. Its user is the `tutti`
// command, which explains errors to people.
#pragma once

#include <string>
#include <vector>

#include "simulate/experiment.h"

namespace tutti::simulate {

struct Request {
  Case what;
  lab::Machine machine;
  progress::Chip chip;
  std::vector<int> communication = {2};  // numbers of communication cores
  std::vector<progress::Placement> placements = {progress::Placement::numa};
  std::vector<Algorithms> algorithms = {Algorithms::paper};
  std::vector<int> levels = {0};  // of the paper's trees
  bool trace = false;             // of each case
  bool overlap = false;           // ... with computation
};

[[nodiscard]] const char* name_of(progress::Placement placement);
[[nodiscard]] const char* name_of(Algorithms algorithms);

// "" or what is wrong.
[[nodiscard]] std::string parse(int count, char** words, Request& request);

}  // namespace tutti::simulate
