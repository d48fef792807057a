// SPDX-License-Identifier: BSD-3-Clause
// Copies with a choice of stores, by the same loop as the arithmetic.
#include "reduce/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reduce/copies.cc"
#include <hwy/foreach_target.h>  // reads this file again for each instruction set

#include "reduce/loops-inl.h"
#include "reduce/targets.h"

#if TUTTI_SIMD_TARGETS & HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace tutti::reduce {
namespace HWY_NAMESPACE {
namespace {

using Byte = std::uint8_t;

void copy(void* to, const void* from, std::size_t bytes, Stores stores) {
  run(Copied{static_cast<const Byte*>(from)}, OneOutput<Byte>{static_cast<Byte*>(to)}, bytes,
      stores);
}

void copy2(void* to_a, void* to_b, const void* from, std::size_t bytes, Stores stores) {
  run(Copied{static_cast<const Byte*>(from)},
      TwoOutputs<Byte>{static_cast<Byte*>(to_a), static_cast<Byte*>(to_b)}, bytes, stores);
}

}  // namespace

extern constinit const Copies copies = {copy, copy2};

}  // namespace HWY_NAMESPACE
}  // namespace tutti::reduce
HWY_AFTER_NAMESPACE();
#endif
