// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace tutti::engine {

// How the members of a group talk before they share a segment: by the user's MPI, or by the pipes
// of a test.
struct Exchange {
  int rank = 0;
  int size = 0;
  // Of this process in the job, by which it is named to the user and known on its Node; -1: `rank`.
  int world_rank = -1;
  bool has_devices = false;  // a runtime of GPUs is loaded in this process
  // `all` receives `bytes` from each member, in rank order. Collective. False when it failed.
  std::function<bool(const void* mine, void* all, std::size_t bytes)> allgather;
};

}  // namespace tutti::engine
