// SPDX-License-Identifier: BSD-3-Clause
// Where the ranks of a node run, and where their progress threads do. Arithmetic on what every rank
// has published, so that all find the same.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "os/affinity.h"

namespace tutti::engine {

struct PlacingRequest {
  std::string_view policy = "auto";      // options().progress
  std::int64_t communication_cores = 0;  // to be kept free of ranks; 0: whatever is
  std::int64_t quota_milli = 0;          // of CPU time for all, see topology::Binding; 0: unlimited
};

struct Placing {
  // Where each rank is to run; empty: they stay where the launcher has put them.
  std::vector<os::CpuMask> ranks;
  // Where the progress thread of each runs; nullopt: with its rank.
  std::vector<std::optional<os::CpuMask>> progress;
  // The ranks would have had no core left, so none is kept free.
  bool too_many = false;
  [[nodiscard]] bool dedicated(std::size_t rank) const { return progress[rank].has_value(); }
};

// What confines one rank: where its own threads may use cores, its cpuset, and what its launcher
// may use (empty: unknown).
struct Confines {
  os::CpuMask home, cpuset, launcher;
};
// The cores of a job with these ranks: those of its cpuset, and of these those of its launcher. But
// an MPI that binds ranks to others takes no notice of the latter; no more do we.
[[nodiscard]] os::CpuMask cores_of_job(std::span<const Confines> ranks);

// `bindings`: the cores that each rank's own threads may use; no progress thread goes there. `job`:
// the cores that any of them could use. `domains`: the NUMA domains of the machine.
[[nodiscard]] Placing place(const PlacingRequest& request, std::span<const os::CpuMask> bindings,
                            const os::CpuMask& job, std::span<const os::CpuMask> domains);

// Whether threads that may use these cores run in several of the domains.
[[nodiscard]] bool are_in_several(std::span<const os::CpuMask> domains,
                                  std::span<const os::CpuMask> cores);

}  // namespace tutti::engine
