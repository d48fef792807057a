// SPDX-License-Identifier: BSD-3-Clause
// What the loaded objects of this process ask of each other. Nothing here touches the heap.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti::os {

// Where an object lies in memory.
struct ObjectRange {
  std::uintptr_t first = 0, end = 0;
  [[nodiscard]] bool holds(const void* address) const {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    return first <= at && at < end;
  }
};
// Of the object that has `address`; empty if none has.
[[nodiscard]] ObjectRange object_with(const void* address);

// Calls `visit(context, object, name)` for the symbols that an object refers to and does not define
// itself, once or more for each. The loader is locked meanwhile: nothing may be looked up.
void each_reference(void (*visit)(void* context, const ObjectRange& object, const char* name),
                    void* context);

}  // namespace tutti::os
