// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace tutti::commons {

// One clause that says why this process must not have a commons, or nullptr.
[[nodiscard]] const char* why_off();

}  // namespace tutti::commons
