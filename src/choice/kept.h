// SPDX-License-Identifier: BSD-3-Clause
// Where a machine's costs are kept from one program to the next: a small text file in the user's
// cache folder, $XDG_CACHE_HOME/tutti or ~/.cache/tutti, one for each host name and processor.
#pragma once

#include <optional>
#include <string>

#include "choice/costs.h"

namespace tutti::choice {

// "" where there is no such folder, and nothing is kept.
[[nodiscard]] std::string kept_file();
[[nodiscard]] std::optional<Costs> load_costs(const std::string& file);
// False: they could not be kept. A file is there as a whole or not at all.
bool keep_costs(const std::string& file, const Costs& costs);

}  // namespace tutti::choice
