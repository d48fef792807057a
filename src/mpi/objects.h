// SPDX-License-Identifier: BSD-3-Clause
// What is loaded in this process: the program and its libraries.
#pragma once

#include <cstdint>
#include <vector>

namespace tutti::mpi {

struct Object {
  std::uintptr_t begin = 0, end = 0;
  const char* name = nullptr;  // its path; "": the program itself; nullptr: there is no such object

  [[nodiscard]] bool holds(const void* address) const {
    return reinterpret_cast<std::uintptr_t>(address) - begin < end - begin;
  }
  // Its own function of that name, not one of what it depends on.
  [[nodiscard]] void* find(const char* function) const;
  // Its file's name, without a path.
  [[nodiscard]] const char* file() const;
};

[[nodiscard]] Object object_at(const void* address);
// Those that the loader looks through after it, in that order.
[[nodiscard]] std::vector<Object> objects_after(const Object& object);

}  // namespace tutti::mpi
