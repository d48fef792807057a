// SPDX-License-Identifier: BSD-3-Clause
// What the cgroups (v1 or v2) of this process and those above them grant. The arguments are for
// tests. No heap.
#pragma once

#include <cstdint>

namespace tutti::os {

// CPUs' worth of time that the cgroup (v1 or v2) and those above it grant, in thousandths; 0 when
// unlimited.
[[nodiscard]] std::int64_t cgroup_cpu_quota_milli(const char* listing = "/proc/self/cgroup",
                                                  const char* mount = "/sys/fs/cgroup");

// The most memory that its processes may take together, and what of that may still be taken;
// `unlimited` (os/limits.h) where nothing limits it.
[[nodiscard]] std::uint64_t cgroup_memory_limit_bytes(const char* listing = "/proc/self/cgroup",
                                                      const char* mount = "/sys/fs/cgroup");
[[nodiscard]] std::uint64_t cgroup_memory_left_bytes(const char* listing = "/proc/self/cgroup",
                                                     const char* mount = "/sys/fs/cgroup");

}  // namespace tutti::os
