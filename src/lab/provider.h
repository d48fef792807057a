// SPDX-License-Identifier: BSD-3-Clause
// What the providers of virtual ranks have in common whose time is simulated: all memory is mapped,
// all ranks call the same, and nobody ends.
#pragma once

#include <cstdlib>
#include <vector>

#include "lab/lab.h"

namespace tutti::lab {

class MappedProvider {
 public:
  void step_aside() {}
  static bool may_fold() { return true; }
  static bool has_read_in_vain() { return false; }
  void take(Route) {}
  void begin_work() {}
  void begin_shared_work() {}
  void end_work() {}
  void mismatch(int, std::uint64_t, std::uint64_t) { std::abort(); }
  void truncation(int, std::size_t, std::size_t) { std::abort(); }
  void withdrawn(int) { std::abort(); }

  [[nodiscard]] Card offer(const void* buffer, std::size_t, bool = true) const {
    return {reinterpret_cast<std::uint64_t>(buffer), memory::best_transport};
  }
  void populate(const void*, std::size_t) const {}
  [[nodiscard]] std::byte* map(int, const Card& card) const {
    return reinterpret_cast<std::byte*>(card.address);
  }
  // Nothing needs the kernel's copy.
  void read(int, const Card&, std::size_t, void*, std::size_t) { std::abort(); }
  void write(int, const Card&, std::size_t, const void*, std::size_t) { std::abort(); }
  [[nodiscard]] std::byte* scratch(std::size_t bytes) { return scratch_.of(bytes); }

 private:
  Scratch scratch_;
};

}  // namespace tutti::lab
