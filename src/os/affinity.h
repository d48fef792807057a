// SPDX-License-Identifier: BSD-3-Clause
// On which CPUs, and for how much of their time, this process may run.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tutti::os {

// The first 1024 CPUs, one bit each; plain data, so that it can be sent to peers.
struct CpuMask {
  std::array<std::uint64_t, 16> words{};

  static constexpr int most = 1024;
  [[nodiscard]] static CpuMask of(int cpu) {
    CpuMask mask;
    mask.words[static_cast<std::size_t>(cpu / 64)] = std::uint64_t{1} << (cpu % 64);
    return mask;
  }
  [[nodiscard]] bool has(int cpu) const {
    return (words[static_cast<std::size_t>(cpu / 64)] >> (cpu % 64) & 1) != 0;
  }
  [[nodiscard]] int count() const;
  [[nodiscard]] bool within(const CpuMask& other) const;  // a subset of `other`
  CpuMask& operator|=(const CpuMask& other);
  CpuMask operator&(const CpuMask& other) const;
  CpuMask operator-(const CpuMask& other) const;  // what is not in `other`
  friend bool operator==(const CpuMask&, const CpuMask&) = default;
};

// A mask of the kernel's; empty if it has a CPU that CpuMask has no room for.
[[nodiscard]] CpuMask first_cpus(std::span<const std::uint64_t> words);

// The affinity mask of a thread; 0: of the calling one. Empty when it cannot be known.
[[nodiscard]] CpuMask usable_cpus(pid_t thread = 0);
// Where all threads of this process may run, whatever the calling one is bound to: an OpenMP
// runtime that binds its threads binds the first of them before main, to one of the cores that it
// uses. To be noted when the process is bound as its launcher, or the MPI, has done it.
void note_home_cpus();
[[nodiscard]] CpuMask home_cpus();
// Where it could run if it were bound to nothing: its cpuset.
[[nodiscard]] CpuMask possible_cpus();
// Where its launcher may run, under taskset, say. Empty when that cannot be known.
[[nodiscard]] CpuMask launcher_cpus();
// As Linux writes it: "0-3,8".
[[nodiscard]] std::string text_of(const CpuMask& mask);
// The CPUs of each NUMA domain; one domain of all where the system does not say.
[[nodiscard]] std::vector<CpuMask> numa_domains(const char* directory = "/sys/devices/system/node");
// Lets a thread of this process run there and nowhere else. False when it may not.
[[nodiscard]] bool run_on(const CpuMask& cpus, pthread_t thread = ::pthread_self());

// The size of the largest cache of CPU 0, from sysfs; 32 MiB when that cannot be read.
[[nodiscard]] std::size_t last_level_cache_bytes();

}  // namespace tutti::os
