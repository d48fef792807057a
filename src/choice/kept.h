// SPDX-License-Identifier: BSD-3-Clause
// Where a machine's costs are kept from one program to the next: a small text file in the user's
// cache folder, $XDG_CACHE_HOME/tutti or ~/.cache/tutti, one for each host name and processor.
#pragma once

#include <optional>
#include <string>

#include "choice/costs.h"

namespace tutti::choice {

// The file, by $XDG_CACHE_HOME and $HOME; "" where there is no such folder, and nothing is kept.
[[nodiscard]] std::string file_in(const char* cache, const char* home);
// The same by what they were when it was first asked.
[[nodiscard]] const std::string& kept_file();
// What was kept in the last seven days.
[[nodiscard]] std::optional<Costs> load_costs(const std::string& file);
// False: they could not be kept. Readers see all of a file or an earlier one. `tidies`: looks for
// old files, which one process of a job is to do.
bool keep_costs(const std::string& file, const Costs& costs, bool tidies = true);

}  // namespace tutti::choice
