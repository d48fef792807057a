// SPDX-License-Identifier: BSD-3-Clause
#include "preload/move.h"

#include <algorithm>
#include <cstring>

#include "commons/commons.h"
#include "preload/behind.h"
#include "preload/next.h"

namespace tutti::preload {

void* resize_shared(void* block, std::size_t bytes) {
  if (bytes == 0) {  // glibc frees
    commons::release(block);
    return nullptr;
  }
  if (void* resized = commons::resize(block, bytes, commons::Patience::some)) return resized;
  // Too small by now, or the commons is exhausted.
  void* moved = behind(bytes, [&] { return next.malloc(bytes); });
  if (moved == nullptr) return nullptr;
  std::memcpy(moved, block, std::min(bytes, commons::usable_bytes(block)));
  commons::release(block);
  return moved;
}

void* resize_into_shared(void* block, std::size_t bytes) {
  const std::size_t before = next.tells_sizes ? next.malloc_usable_size(block) : bytes;
  void* moved =
      before < bytes ? commons::allocate(bytes, 1, false, commons::Patience::some) : nullptr;
  if (moved == nullptr)  // it shrinks, its size is not known, or there is no room
    return behind(bytes, [&] { return next.realloc(block, bytes); });
  std::memcpy(moved, block, before);
  next.free(block);
  return moved;
}

void* resize_early(void* block, std::size_t bytes) {
  void* moved = bytes == 0 ? nullptr : next.malloc(bytes);
  if (moved != nullptr) std::memcpy(moved, block, std::min(bytes, early_bytes(block)));
  return moved;
}

}  // namespace tutti::preload
