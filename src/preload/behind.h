// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cerrno>
#include <cstddef>

#include "commons/commons.h"

namespace tutti::preload {

// What the allocator behind gives: ask() of it, which may fail. Where a limit has it fail (`ulimit
// -v`), the address space that the commons has reserved is the program's, and it is asked again. No
// bytes are no failure: realloc() has freed the block then.
template <class Ask>
void* behind(std::size_t bytes, Ask ask) {
  const int error = errno;
  const std::size_t reserved = commons::reserved_bytes();
  void* block = ask();
  if (block != nullptr || bytes == 0 || errno != ENOMEM) [[likely]]
    return block;
  (void)commons::yield_address_space(bytes);
  if (commons::reserved_bytes() == reserved) return nullptr;  // nor has another thread
  block = ask();
  if (block != nullptr) errno = error;
  return block;
}

}  // namespace tutti::preload
