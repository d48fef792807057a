// SPDX-License-Identifier: BSD-3-Clause
// Copies with a choice of stores, by the same loop as the arithmetic.
#include "reduce/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reduce/copies.cc"
#include <hwy/foreach_target.h>  // reads this file again for each instruction set

#include <cstring>

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

// Each vector of one is on its way to the other before that is written. What is left is less than a
// vector, and goes by a place of its own.
void swap(void* a, void* b, std::size_t bytes) {
  const hn::ScalableTag<Byte> d;
  constexpr std::size_t lanes = hn::MaxLanes(hn::ScalableTag<Byte>());
  auto* one = static_cast<Byte*>(a);
  auto* other = static_cast<Byte*>(b);
  const auto exchange = [&](std::size_t i) {
    const auto mine = hn::LoadU(d, one + i);
    const auto theirs = hn::LoadU(d, other + i);
    hn::StoreU(theirs, d, one + i);
    hn::StoreU(mine, d, other + i);
  };
  const bool ahead = bytes >= ahead_bytes;
  std::size_t i = 0;
  for (; i + 4 * lanes <= bytes; i += 4 * lanes) {
    if (ahead) TwoOutputs<Byte>{one, other}.prefetch(i, 4 * lanes);
    for (std::size_t k = 0; k < 4; ++k) exchange(i + k * lanes);
  }
  for (; i + lanes <= bytes; i += lanes) exchange(i);
  Byte rest[lanes];
  std::memcpy(rest, one + i, bytes - i);
  std::memcpy(one + i, other + i, bytes - i);
  std::memcpy(other + i, rest, bytes - i);
}

}  // namespace

extern constinit const Copies copies = {copy, copy2, swap};

}  // namespace HWY_NAMESPACE
}  // namespace tutti::reduce
HWY_AFTER_NAMESPACE();
#endif
