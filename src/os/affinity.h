// SPDX-License-Identifier: BSD-3-Clause
// On which CPUs, and for how much of their time, this process may run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tutti::os {

// The first 1024 CPUs, one bit each; plain data, so that it can be sent to peers.
struct CpuMask {
  std::array<std::uint64_t, 16> words{};

  [[nodiscard]] int count() const;
  [[nodiscard]] bool within(const CpuMask& other) const;  // a subset of `other`
  CpuMask& operator|=(const CpuMask& other);
  friend bool operator==(const CpuMask&, const CpuMask&) = default;
};

// The affinity mask of the calling thread.
[[nodiscard]] CpuMask usable_cpus();

// CPUs' worth of time that the cgroup (v1 or v2) and those above it grant, in thousandths; 0 when
// unlimited. The arguments are for tests.
[[nodiscard]] std::int64_t cgroup_cpu_quota_milli(const char* listing = "/proc/self/cgroup",
                                                  const char* mount = "/sys/fs/cgroup");

// The size of the largest cache of CPU 0, from sysfs; 32 MiB when that cannot be read.
[[nodiscard]] std::size_t last_level_cache_bytes();

}  // namespace tutti::os
