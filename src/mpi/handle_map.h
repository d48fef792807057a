// SPDX-License-Identifier: BSD-3-Clause
// The predefined datatypes and operations of the MPI in this process, by handle.
#pragma once

#include <array>
#include <cstdint>

#include "mpi/handles.h"

namespace tutti::mpi {

// A handle to a row, by open addressing; filled once, then only read.
template <class Row>
class HandleMap {
 public:
  void insert(std::uint64_t handle, Row& row) {
    if (handle == 0 || find(handle) != nullptr) return;
    std::size_t slot = slot_of(handle);
    while (entries_[slot].row != nullptr) slot = (slot + 1) % size;
    entries_[slot] = {handle, &row};
  }
  [[nodiscard]] Row* find(std::uint64_t handle) const {
    for (std::size_t slot = slot_of(handle); entries_[slot].row != nullptr;
         slot = (slot + 1) % size)
      if (entries_[slot].handle == handle) return entries_[slot].row;
    return nullptr;
  }

 private:
  struct Entry {
    std::uint64_t handle = 0;
    Row* row = nullptr;
  };
  static constexpr std::size_t size = 256;  // several times the rows of any table
  static std::size_t slot_of(std::uint64_t handle) {
    return static_cast<std::size_t>((handle * 0x9e3779b97f4a7c15u) >> 56);
  }
  std::array<Entry, size> entries_{};
};

}  // namespace tutti::mpi
