// SPDX-License-Identifier: BSD-3-Clause
// The desks of virtual ranks, in private memory. Staging slots are not set to zero: a rank that
// reads one has waited for the rank that wrote it, and most slots of most desks are never touched.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>
#include <vector>

#include "segment/desk.h"

namespace tutti::lab {

class VirtualDesks {
 public:
  explicit VirtualDesks(int ranks)
      : memory_(std::aligned_alloc(alignof(segment::Desk),
                                   static_cast<std::size_t>(ranks) * sizeof(segment::Desk))) {
    if (memory_ == nullptr) std::abort();
    for (int rank = 0; rank < ranks; ++rank) {
      std::byte* const at =
          static_cast<std::byte*>(memory_) + static_cast<std::size_t>(rank) * sizeof(segment::Desk);
      std::memset(at, 0, offsetof(segment::Desk, staging));
      desks_.push_back(std::launder(reinterpret_cast<segment::Desk*>(at)));
    }
  }
  ~VirtualDesks() { std::free(memory_); }
  VirtualDesks(const VirtualDesks&) = delete;
  VirtualDesks& operator=(const VirtualDesks&) = delete;

  [[nodiscard]] std::span<segment::Desk* const> all() const { return desks_; }

 private:
  void* memory_;
  std::vector<segment::Desk*> desks_;
};

}  // namespace tutti::lab
