// SPDX-License-Identifier: BSD-3-Clause
// The loops that move blocks between memory and packed bytes, one pair of them a block size.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "layout/transpose.h"
#include "reduce/reduce.h"

namespace tutti::layout {

struct Packing {
  static constexpr bool packs = true;
  static void move(std::byte* packed, std::byte* memory, std::size_t bytes) {
    reduce::copy(packed, memory, bytes);
  }
};
struct Unpacking {
  static constexpr bool packs = false;
  static void move(std::byte* packed, std::byte* memory, std::size_t bytes) {
    reduce::copy(memory, packed, bytes);
  }
};

// How many blocks, and how far apart they are on either side.
struct Dimension {
  std::size_t count;
  std::ptrdiff_t memory;
  std::ptrdiff_t packed;
};

// `size` is a block's bytes when the compiler knows them, or 0: then `block` says it.
template <class Direction, std::size_t size>
struct Kernel {
  static void row(std::byte* packed, std::byte* memory, Dimension d, std::size_t block) {
    const std::size_t bytes = size != 0 ? size : block;
    const std::ptrdiff_t p = d.packed, m = d.memory;
    std::size_t left = d.count;
    if constexpr (size != 0)
      for (; left >= 4; left -= 4, packed += 4 * p, memory += 4 * m) {
        Direction::move(packed, memory, bytes);
        Direction::move(packed + p, memory + m, bytes);
        Direction::move(packed + 2 * p, memory + 2 * m, bytes);
        Direction::move(packed + 3 * p, memory + 3 * m, bytes);
      }
    for (; left > 0; --left, packed += p, memory += m) Direction::move(packed, memory, bytes);
  }

  // Two dimensions; the packed order has `inner` inside. Memory decides the order of the loops.
  static void plane(std::byte* packed, std::byte* memory, Dimension outer, Dimension inner,
                    std::size_t block) {
    if (outer.count == 1) return row(packed, memory, inner, block);
    if (inner.count == 1) return row(packed, memory, outer, block);
    const auto near = static_cast<std::size_t>(std::abs(outer.memory));
    const bool crossed = near < static_cast<std::size_t>(std::abs(inner.memory));
    if (size != 0 && crossed) {
      if constexpr (transposable)
        if (near == size && std::min(outer.count, inner.count) >= line_bytes / size)
          return transpose(packed, memory, outer, inner);
      // Other transposes. A tile is a cache line wide, so that what is fetched is used at once, and
      // so high that the far ends of its rows stay in the TLB while the next tiles are done.
      const std::size_t wide = std::clamp<std::size_t>(64 / std::max<std::size_t>(near, 1), 8, 64);
      return tiles(packed, memory, outer, inner, block, wide, 64);
    }
    if (size != 0 && inner.count < 8) {
      // Short rows: the long loop goes inside, as far as the first-level cache reaches.
      const std::size_t far = std::max(near, static_cast<std::size_t>(outer.packed));
      const std::size_t wide = (16 << 10) / std::max<std::size_t>(far, 1);
      if (wide > inner.count) return tiles(packed, memory, outer, inner, block, wide, inner.count);
    }
    for (std::size_t i = 0; i < outer.count; ++i, packed += outer.packed, memory += outer.memory)
      row(packed, memory, inner, block);
  }

 private:
  static constexpr bool transposable =
      size == 1 || size == 2 || size == 4 || size == 8 || size == 16;

  // Columns that touch in memory: all but what does not fill a vector, and what is before the first
  // whole cache line, goes in tiles.
  static void transpose(std::byte* packed, std::byte* memory, Dimension outer, Dimension inner) {
    if (outer.memory < 0) {
      packed += step_of(outer.count - 1, outer.packed);
      memory += step_of(outer.count - 1, outer.memory);
      outer = {outer.count, -outer.memory, -outer.packed};
    }
    const Middle o(memory, inner.memory, outer.count), i(packed, outer.packed, inner.count);
    const auto rest = [&](std::size_t o0, std::size_t o1, std::size_t i0, std::size_t i1) {
      tiles(packed + step_of(o0, outer.packed) + i0 * size,
            memory + step_of(i0, inner.memory) + o0 * size, {o1 - o0, outer.memory, outer.packed},
            {i1 - i0, inner.memory, inner.packed}, size, line_bytes / size, 16);
    };
    rest(0, o.begin, 0, inner.count);
    rest(o.begin, o.end, 0, i.begin);
    std::byte* const p = packed + step_of(o.begin, outer.packed) + i.begin * size;
    std::byte* const m = memory + step_of(i.begin, inner.memory) + o.begin * size;
    if constexpr (Direction::packs)
      Transpose<size>::all(p, outer.packed, m, inner.memory, i.end - i.begin, o.end - o.begin);
    else
      Transpose<size>::all(m, inner.memory, p, outer.packed, o.end - o.begin, i.end - i.begin);
    rest(o.begin, o.end, i.end, inner.count);
    rest(o.end, outer.count, 0, inner.count);
  }

  // Which blocks of rows at `start` are whole vectors; if that is worth it, from a cache line on.
  struct Middle {
    Middle(const std::byte* start, std::ptrdiff_t step, std::size_t count) {
      const std::size_t before = -reinterpret_cast<std::uintptr_t>(start) % line_bytes;
      if (step % line_bytes == 0 && before % size == 0 && count * size >= 4 * line_bytes)
        begin = before / size;
      end = begin + (count - begin) / Transpose<size>::lanes * Transpose<size>::lanes;
    }
    std::size_t begin = 0, end;
  };

  static void tiles(std::byte* packed, std::byte* memory, Dimension outer, Dimension inner,
                    std::size_t block, std::size_t wide, std::size_t high) {
    for (std::size_t i = 0; i < inner.count; i += high)
      for (std::size_t o = 0; o < outer.count; o += wide) {
        std::byte* p = packed + step_of(i, inner.packed) + step_of(o, outer.packed);
        std::byte* m = memory + step_of(i, inner.memory) + step_of(o, outer.memory);
        const Dimension across{std::min(wide, outer.count - o), outer.memory, outer.packed};
        const std::size_t end = std::min(high, inner.count - i);
        for (std::size_t k = 0; k < end; ++k, p += inner.packed, m += inner.memory)
          row(p, m, across, block);
      }
  }
};

// Calls body(Kernel<...>()) for a block of this many bytes.
template <class Direction, class Body>
void with_kernel(std::size_t block, Body body) {
  switch (block) {
    case 1:
      return body(Kernel<Direction, 1>());
    case 2:
      return body(Kernel<Direction, 2>());
    case 4:
      return body(Kernel<Direction, 4>());
    case 8:
      return body(Kernel<Direction, 8>());
    case 12:
      return body(Kernel<Direction, 12>());
    case 16:
      return body(Kernel<Direction, 16>());
    case 24:
      return body(Kernel<Direction, 24>());
    case 32:
      return body(Kernel<Direction, 32>());
    default:
      return body(Kernel<Direction, 0>());
  }
}

}  // namespace tutti::layout
