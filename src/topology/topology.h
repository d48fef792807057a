// SPDX-License-Identifier: BSD-3-Clause
// topology: how the ranks of a node share its cores. Pure arithmetic on what each rank published.
#pragma once

#include <cstdint>
#include <span>

#include "os/affinity.h"

namespace tutti::topology {

// Where one rank may run.
struct Seat {
  os::CpuMask cpus;
  std::int64_t quota_milli = 0;  // of its cgroup; 0: unlimited
};

// Whether some ranks must share a core: there are more ranks than cores in all, or more ranks
// confined to some set of cores than it has, or their cgroup grants less time than they would spin.
// The same answer on every rank that is given the same seats.
[[nodiscard]] bool oversubscribed(std::span<const Seat> seats);

}  // namespace tutti::topology
