// SPDX-License-Identifier: BSD-3-Clause
// topology: how the ranks of a node share its cores. Pure arithmetic on what each rank published.
// Words: docs/glossary.md.
#pragma once

#include <cstdint>
#include <span>

#include "os/affinity.h"

namespace tutti::topology {

// Where one rank may run.
struct Binding {
  os::CpuMask cpus;
  std::int64_t quota_milli = 0;  // of its cgroup; 0: unlimited
};

// The time that cgroups grant these ranks together; 0: unlimited. Ranks of one container share its
// quota, ranks of several have one each: the largest is right for the first case, and too little in
// the second.
[[nodiscard]] std::int64_t quota_milli(std::span<const Binding> bindings);

// How many ranks share a core where that is most: of all ranks, of those that are confined to some
// set of cores, or of the time that their cgroup grants. Above 1 some ranks must share one. Every
// rank that is given the same bindings gets the same answer.
[[nodiscard]] double ranks_per_core(std::span<const Binding> bindings);

// What a rank says of the cores that it may use. Those who say the same use the same ones, also on
// another node: containers on one machine are nodes of their own.
struct Claim {
  std::uint64_t cores_id;
  std::int32_t cores;  // how many
  std::int32_t node;
};
// Whether ranks of all nodes together are more than the cores that some rank of `node` may use.
[[nodiscard]] bool overclaimed(std::span<const Claim> claims, std::int32_t node);
// The same of any node.
[[nodiscard]] bool overclaimed(std::span<const Claim> claims);
// Whether a core that one node's ranks leave free may be another's: several nodes use the same
// ones, and these have none left for a thread of each node.
[[nodiscard]] bool lack_free_cores(std::span<const Claim> claims);

}  // namespace tutti::topology
