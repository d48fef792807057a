// SPDX-License-Identifier: BSD-3-Clause
// Internal to reduce/ and its tests: the kernels of every instruction set that was compiled.
#pragma once

#include <array>
#include <span>

#include "reduce/elements.h"

namespace tutti::reduce {

struct Copies {
  void (*copy)(void* to, const void* from, std::size_t bytes, Stores stores);
  void (*copy2)(void* to_a, void* to_b, const void* from, std::size_t bytes, Stores stores);
  void (*swap)(void* a, void* b, std::size_t bytes);
};

// In the order of Type, from i8 and from f32 on.
using IntegerRows = std::array<Row, 8>;
struct FloatRows {
  Row f32, f64, c64, c128;
};

struct Target {
  const char* name;
  bool (*is_supported)();  // by this processor and operating system
  const IntegerRows* integers;
  const FloatRows* floats;
  const Copies* copies;

  // The scalar kernel where this target has none; nullptr where MPI defines none.
  [[nodiscard]] const Kernel* find(Op op, Type type) const;
};

// Best first; the last one, "scalar", is always supported.
[[nodiscard]] std::span<const Target> targets();

namespace scalar {
[[nodiscard]] const Kernel& kernel_at(Op op, Type type);
extern const Copies copies;
}  // namespace scalar

}  // namespace tutti::reduce
