// SPDX-License-Identifier: BSD-3-Clause
// The arithmetic of a reduction over many operands, in the one order of meetings.h.
#pragma once

#include <cstring>

#include "coll/coll.h"

namespace tutti::coll {

// out = the fold of `count` elements of each operand. operand(q, place) yields the elements of
// member q, where they are or copied to `place`. `out` may be exactly one of the operands, or the
// first place. There are places_of(operands) places of `each` bytes.
template <class Operand>
[[gnu::always_inline]] inline void fold_at(std::byte* places, std::size_t each, const Work& work,
                                           int operands, Operand operand, void* out,
                                           std::size_t count, Stores stores = Stores::plain) {
  for (const Meeting* meeting = meetings_of(work.order, operands);; ++meeting) {
    std::byte* const place = places + static_cast<std::size_t>(meeting->place) * each;
    const auto at = [&](std::size_t i) -> const void* {
      const int q = meeting->from[i];
      return q < 0 ? place + i * each : operand(q, place + i * each);
    };
    void* const sum = meeting->last ? out : place;
    const Stores way = meeting->last ? stores : Stores::plain;
    if (meeting->count == 2) {
      const void* left = at(0);
      work.kernel->apply(sum, left, at(1), count, way);
    } else if (meeting->count == 4) {
      const void* const in[] = {at(0), at(1), at(2), at(3)};
      work.kernel->apply4(sum, in, count, way);
    } else {  // alone
      std::memmove(sum, at(0), count * work.element_bytes);
    }
    if (meeting->last) return;
  }
}

// The fold of two or three operands, which needs no places: of three the first two meet first.
// False: there are more, or the result lies where the third operand is. Then nothing was done.
template <class Operand>
[[gnu::always_inline]] inline bool fold_few(const Work& work, int operands, Operand operand,
                                            void* out, std::size_t count) {
  if (operands != 2 && (operands != 3 || operand(2) == out)) return false;
  work.kernel->apply(out, operand(0), operand(1), count, Stores::plain);
  if (operands == 3) work.kernel->apply(out, out, operand(2), count, Stores::plain);
  return true;
}

// The fold of the operands of a fabric's members; operand(q) is that of member q. All elements at
// once, as they are in lines.
template <Fabric F, class Operand>
[[gnu::always_inline]] inline void fold_lines(F& f, const Work& work, Operand operand, void* out,
                                              std::size_t count) {
  if (fold_few(work, f.size(), operand, out, count)) return;
  std::byte* const places = f.scratch(places_of(f.size()) * line_bytes);
  const auto at = [&](int q, std::byte*) { return operand(q); };
  fold_at(places, line_bytes, work, f.size(), at, out, count);
}

// The same block by block. A block is `block` elements, which take at most `each` bytes.
template <class Operand>
[[gnu::always_inline]] inline void fold_blocks(std::byte* places, std::size_t each,
                                               std::size_t block, const Work& work, int operands,
                                               Operand operand, void* out, std::size_t count) {
  for (std::size_t done = 0; done < count; done += block) {
    const std::size_t offset = done * work.element_bytes;
    const auto at = [&](int q, std::byte*) { return operand(q) + offset; };
    fold_at(places, each, work, operands, at, static_cast<std::byte*>(out) + offset,
            std::min(block, count - done));
  }
}
template <Fabric F, class Operand>
[[gnu::noinline]] void fold_many(F& f, const Work& work, Operand operand, void* out,
                                 std::size_t count) {
  const std::size_t element = work.element_bytes, bytes = count * element;
  const std::size_t each = std::min(round_up(bytes, line_bytes), limits::fold_block_bytes);
  const std::size_t block =
      bytes <= limits::fold_block_bytes ? count : limits::fold_block_bytes / element;
  std::byte* const places = f.scratch(places_of(f.size()) * each);
  fold_blocks(places, each, block, work, f.size(), operand, out, count);
}
template <Fabric F, class Operand>
[[gnu::always_inline]] inline void fold(F& f, const Work& work, Operand operand, void* out,
                                        std::size_t count) {
  if (!fold_few(work, f.size(), operand, out, count)) fold_many(f, work, operand, out, count);
}

}  // namespace tutti::coll
