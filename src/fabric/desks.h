// SPDX-License-Identifier: BSD-3-Clause
// The desks of virtual ranks, in private memory: zeroed and sparse, as most slots of most desks are
// never touched.
#pragma once

#include <sys/mman.h>

#include <cstdlib>
#include <new>
#include <span>
#include <vector>

#include "base/base.h"
#include "segment/desk.h"

namespace tutti::fabric {

class VirtualDesks {
 public:
  explicit VirtualDesks(int ranks)
      : bytes_(static_cast<std::size_t>(ranks) * round_up(sizeof(segment::Desk), page_bytes)),
        memory_(::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (memory_ == MAP_FAILED) std::abort();
    for (std::size_t offset = 0; offset < bytes_;
         offset += round_up(sizeof(segment::Desk), page_bytes))
      desks_.push_back(std::launder(
          reinterpret_cast<segment::Desk*>(static_cast<std::byte*>(memory_) + offset)));
  }
  ~VirtualDesks() { ::munmap(memory_, bytes_); }
  VirtualDesks(const VirtualDesks&) = delete;
  VirtualDesks& operator=(const VirtualDesks&) = delete;

  [[nodiscard]] std::span<segment::Desk* const> all() const { return desks_; }

 private:
  std::size_t bytes_;
  void* memory_;
  std::vector<segment::Desk*> desks_;
};

}  // namespace tutti::fabric
