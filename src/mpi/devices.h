// SPDX-License-Identifier: BSD-3-Clause
// Memory of GPUs: which addresses are of it, and copies between it and the host, by the runtime
// that the program has loaded: CUDA's driver, ROCm's HIP or Level Zero. Each is looked up in the
// process when it is there, and never loaded. Managed memory, and pinned host memory, is the
// host's.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "os/loads.h"

namespace tutti::mpi::devices {

// Whether there is one, as far as somebody has looked.
enum class Found : std::uint8_t { unknown, none, some };
inline constinit std::atomic<Found> g_found{Found::unknown};
[[nodiscard, gnu::cold]] Found look();

// A rank of a communicator of this process's has a runtime: from now on all take part in what it
// asks before a call.
void expect();

// Whether any runtime is loaded, or expected.
[[nodiscard, gnu::always_inline]] inline bool present() {
  Found found = Found::unknown;
  if (!os::has_loaded()) [[likely]]
    found = g_found.load(std::memory_order_relaxed);  // after that
  if (found == Found::unknown) [[unlikely]]
    found = look();
  return found == Found::some;
}

[[nodiscard]] bool owns(const void* address);
// Whether anything was copied.
[[nodiscard]] bool copied();
// All is there when they return. The host's memory need not be pinned. A copy that fails ends the
// process: the others wait for these bytes.
void copy_to_host(void* host, const void* device, std::size_t bytes);
void copy_to_device(void* device, const void* host, std::size_t bytes);

}  // namespace tutti::mpi::devices
