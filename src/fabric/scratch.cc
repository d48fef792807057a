// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/scratch.h"

#include <algorithm>
#include <cstring>

#include "base/base.h"
#include "choice/limits.h"

namespace tutti::fabric {

void Scratch::free() {
  memory_.reset();
  bytes_ = 0;
}

// What is smaller would be no block that peers can map.
void Scratch::grow(std::size_t bytes) {
  bytes = std::max(bytes, limits::shared_bytes);
  void* memory = std::aligned_alloc(page_bytes, round_up(bytes, page_bytes));
  if (memory == nullptr) {
    log::fatal("out of memory: %zu bytes of scratch for a collective", bytes);
    std::abort();
  }
  if (bytes_ > 0) std::memcpy(memory, memory_.get(), bytes_);
  memory_.reset(static_cast<std::byte*>(memory));
  bytes_ = bytes;
}

}  // namespace tutti::fabric
