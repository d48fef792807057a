// SPDX-License-Identifier: BSD-3-Clause
// What tutti-probe can say, one function a document.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "probe/json.h"

namespace tutti::probe {

void machine(Json& json);
void memory(Json& json);
void options(Json& json);

// What lab/model.h says of every number of ranks on `cores` cores. More make the tables long, fewer
// leave no core to communicate.
inline constexpr int least_cores = 2;
inline constexpr int most_cores = 1024;
void model(Json& json, int cores);

// The first line of a file without its newline; nothing if it cannot be read.
[[nodiscard]] std::optional<std::string> first_line(const std::string& path);

}  // namespace tutti::probe
