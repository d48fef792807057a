// SPDX-License-Identifier: BSD-3-Clause
// realloc between the two allocators. Each returns nullptr with `block` untouched, as realloc does.
#pragma once

#include <cstddef>

namespace tutti::preload {

// A block of the commons.
[[nodiscard]] void* resize_shared(void* block, std::size_t bytes);
// A block of the allocator behind, to a size that the commons may serve.
[[nodiscard]] void* resize_into_shared(void* block, std::size_t bytes);
// A block of the static buffer.
[[nodiscard]] void* resize_early(void* block, std::size_t bytes);

}  // namespace tutti::preload
