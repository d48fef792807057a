// SPDX-License-Identifier: BSD-3-Clause
// Matrix columns become rows: where a loop over single blocks is slow.
//
// The cache lines that a column touches compete for few places in a cache when the rows are a power
// of two apart, and are gone before their other blocks are asked for. So all is done in tiles of a
// cache line by a cache line: each line of the source is read once and as a whole, into a buffer
// without such conflicts, and each line of the result is written as a whole.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "arch/arch.h"

namespace tutti::layout {

constexpr std::size_t line_bytes = 64;

inline std::ptrdiff_t step_of(std::size_t count, std::ptrdiff_t stride) {
  return static_cast<std::ptrdiff_t>(count) * stride;
}

// Blocks of 1, 2, 4, 8 or 16 bytes, which touch within a row of either side; the rows are `step`
// bytes apart.
template <std::size_t size>
struct Transpose {
  using Vector = arch::Vector;
  static constexpr std::size_t vector = sizeof(Vector);
  static constexpr std::size_t lanes = vector / size;  // blocks in a vector, and its rows
  static constexpr std::size_t side = line_bytes / size;

  // `rows` x `columns` of the source; both are multiples of `lanes`. Not inlined: it is large.
  [[gnu::noinline]] static void all(std::byte* to, std::ptrdiff_t to_step, const std::byte* from,
                                    std::ptrdiff_t from_step, std::size_t rows,
                                    std::size_t columns) {
    if (arch::has_streaming_stores && sparse(to, to_step, rows, columns)) {
      tiles<true>(to, to_step, from, from_step, rows, columns, false);
      return arch::fence_streams();
    }
    // So many that the lines and pages of one row of tiles are still near when the next begins.
    constexpr std::size_t high = 512, wide = 256;
    const bool cached = rows * columns * size <= cached_bytes;
    for (std::size_t i = 0; i < rows; i += high)
      for (std::size_t j = 0; j < columns; j += wide)
        tiles<false>(to + step_of(j, to_step) + i * size, to_step,
                     from + step_of(i, from_step) + j * size, from_step, std::min(high, rows - i),
                     std::min(wide, columns - j), cached);
  }

 private:
  // A few whole lines in each of very many pages, which no cache holds. They are stored past the
  // caches: to fetch a line before it is written would take most of the time.
  static bool sparse(const std::byte* to, std::ptrdiff_t step, std::size_t rows,
                     std::size_t columns) {
    const auto apart = static_cast<std::size_t>(std::abs(step));
    return rows * size <= 4 * line_bytes && rows % side == 0 && apart >= 4096 &&
           columns * apart > cached_bytes &&
           (reinterpret_cast<std::uintptr_t>(to) | apart) % line_bytes == 0;
  }

  // Memory beyond the caches is read along its rows; what they hold had better be written so.
  static constexpr std::size_t cached_bytes = std::size_t{12} << 20;

  template <bool streaming>
  static void tiles(std::byte* to, std::ptrdiff_t to_step, const std::byte* from,
                    std::ptrdiff_t from_step, std::size_t rows, std::size_t columns,
                    bool along_result) {
    const std::size_t slow = along_result ? columns : rows, fast = along_result ? rows : columns;
    for (std::size_t a = 0; a < slow; a += side)
      for (std::size_t b = 0; b < fast; b += side) {
        const std::size_t i = along_result ? b : a, j = along_result ? a : b;
        std::byte* t = to + step_of(j, to_step) + i * size;
        const std::byte* f = from + step_of(i, from_step) + j * size;
        const std::size_t down = std::min(side, rows - i), across = std::min(side, columns - j);
        if (down == side && across == side)
          tile<streaming>(t, to_step, f, from_step, side, side);
        else
          tile<streaming>(t, to_step, f, from_step, down, across);
      }
  }

  template <bool streaming>
  [[gnu::always_inline]] static void tile(std::byte* to, std::ptrdiff_t to_step,
                                          const std::byte* from, std::ptrdiff_t from_step,
                                          std::size_t rows, std::size_t columns) {
    alignas(line_bytes) std::byte lines[side * line_bytes];
#pragma GCC unroll 8
    for (std::size_t i = 0; i < rows; ++i, from += from_step)
#pragma GCC unroll 4
      for (std::size_t v = 0; v < columns * size; v += vector)
        std::memcpy(lines + i * line_bytes + v, from + v, vector);
    for (std::size_t j = 0; j < columns; j += lanes)
      for (std::size_t i = 0; i < rows; i += lanes)
        square<streaming>(to + step_of(j, to_step) + i * size, to_step,
                          lines + i * line_bytes + j * size);
  }

  // lanes x lanes blocks. With each round, rows that belong together are half as far apart.
  template <bool streaming>
  [[gnu::always_inline]] static void square(std::byte* to, std::ptrdiff_t to_step,
                                            const std::byte* lines) {
    constexpr auto bytes = std::make_index_sequence<vector>();
    Vector rows[lanes], next[lanes];
#pragma GCC unroll 16
    for (std::size_t i = 0; i < lanes; ++i) std::memcpy(&rows[i], lines + i * line_bytes, vector);
#pragma GCC unroll 4
    for (std::size_t n = 1; n < lanes; n *= 2) {
#pragma GCC unroll 8
      for (std::size_t i = 0; i < lanes / 2; ++i) {
        next[2 * i] = interleave<0>(rows[i], rows[i + lanes / 2], bytes);
        next[2 * i + 1] = interleave<1>(rows[i], rows[i + lanes / 2], bytes);
      }
#pragma GCC unroll 16
      for (std::size_t i = 0; i < lanes; ++i) rows[i] = next[i];
    }
#pragma GCC unroll 16
    for (std::size_t i = 0; i < lanes; ++i, to += to_step) store<streaming>(to, rows[i]);
  }

  template <bool streaming>
  [[gnu::always_inline]] static void store(std::byte* to, Vector value) {
    if constexpr (streaming)
      arch::stream(to, value);
    else
      std::memcpy(to, &value, vector);
  }

  // The first halves of two vectors, or the second, block by block in turn.
  template <std::size_t half, std::size_t... byte>
  static Vector interleave(Vector a, Vector b, std::index_sequence<byte...>) {
    return __builtin_shufflevector(
        a, b,
        (half * vector / 2 + byte / (2 * size) * size + byte % size + byte / size % 2 * vector)...);
  }
};

}  // namespace tutti::layout
