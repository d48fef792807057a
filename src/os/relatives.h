// SPDX-License-Identifier: BSD-3-Clause
// What /proc tells of other processes of this user.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace tutti::os {

// 0 when that cannot be known.
[[nodiscard]] pid_t parent_of(pid_t pid);
[[nodiscard]] std::vector<pid_t> children_of(pid_t pid);

// What `pid` has been started with in its environment. False: nothing of that name, or one may not
// look.
[[nodiscard]] bool variable_of(pid_t pid, const char* name, std::string& value);

// Who has started this process as a rank: its nearest ancestor whose environment does not have the
// rank of this one in the variable `rank`. Scripts, `timeout` and other wrappers that stay have it,
// too. 0 when it cannot be known.
[[nodiscard]] pid_t launcher(const char* rank);

// Whether a file with `part` in its name is mapped there. False when one may not look.
[[nodiscard]] bool has_mapped(pid_t pid, const char* part);

}  // namespace tutti::os
