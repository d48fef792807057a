// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cerrno>
#include <cstddef>

#include "commons/commons.h"

namespace tutti::preload {

// What the allocator behind gives: ask() of it, which may fail. Where a limit has it fail (`ulimit
// -v`), the address space that the commons has reserved is the program's, and it is asked again.
template <class Ask>
void* behind(std::size_t bytes, Ask ask) {
  const int error = errno;
  void* block = ask();
  if (block != nullptr || !commons::yield_address_space(bytes)) [[likely]]
    return block;
  block = ask();
  if (block != nullptr) errno = error;
  return block;
}

}  // namespace tutti::preload
