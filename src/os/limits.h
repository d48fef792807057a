// SPDX-License-Identifier: BSD-3-Clause
// How much memory and address space there is. Nothing here touches the heap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace tutti::os {

inline constexpr std::uint64_t unlimited = ~std::uint64_t{0};

[[nodiscard]] std::uint64_t physical_memory_bytes();
// What the machine could still give out without swapping; `unlimited` when that is not known.
[[nodiscard]] std::uint64_t available_memory_bytes();
// RLIMIT_AS, RLIMIT_DATA and RLIMIT_FSIZE; the last one ends a process that makes any file larger.
[[nodiscard]] std::uint64_t address_space_limit_bytes();
[[nodiscard]] std::uint64_t private_memory_limit_bytes();
[[nodiscard]] std::uint64_t file_size_limit_bytes();
// The most that malloc gives at once, by vm.overcommit_memory: `unlimited` for 1, what the machine
// has for 0, and 0 for 2, where the kernel counts what it has promised.
[[nodiscard]] std::uint64_t promise_limit_bytes();
// What this process may still map.
[[nodiscard]] std::uint64_t address_space_left_bytes();
// What is resident in this process of files and of memory that is shared.
[[nodiscard]] std::optional<std::uint64_t> resident_shared_bytes();

}  // namespace tutti::os
