// SPDX-License-Identifier: BSD-3-Clause
// reduce: element-wise arithmetic of MPI's predefined operations on its predefined types. It uses
// SIMD (Highway), with the target chosen once at run time, and has a scalar reference beside it.
//
// Every kernel computes out[i] = left[i] op right[i]. For one (op, type) the result for an element
// depends only on its operands: not on alignment, length, position, streaming or the number of
// outputs. So ranks that compute slices agree to the bit with ranks that compute the whole.
// Words: docs/glossary.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace tutti::reduce {

// clang-format off
enum class Op : std::uint8_t {
  sum, prod, min, max, land, lor, lxor, band, bor, bxor, minloc, maxloc,
};
inline constexpr int op_count = 12;

enum class Type : std::uint8_t {
  i8, i16, i32, i64, u8, u16, u32, u64, f32, f64,
  f80,            // long double of the platform
  c64, c128,      // pairs of f32, f64; sum and prod only
  f32_i32, f64_i32, i64_i32, i32_i32, i16_i32, f80_i32,  // value, index, no gaps: minloc, maxloc
  f32_f32, f64_f64,  // Fortran's pairs of one type: minloc, maxloc
  boolean,        // one byte, C++ and C bool; land, lor, lxor only
};
inline constexpr int type_count = 22;
// clang-format on

[[nodiscard]] std::size_t size_of(Type type);  // bytes of an element
[[nodiscard]] constexpr bool is_integer(Type type) { return type <= Type::u64; }
[[nodiscard]] const char* name_of(Type type);
[[nodiscard]] const char* name_of(Op op);

// How results reach memory. Streaming stores bypass the caches. That is right where the destination
// is not in them, and wrong where it is; the caller decides.
enum class Stores : std::uint8_t { plain, streaming };

// One (op, type). Pointers are aligned to the type's own alignment at least; pairs may lie at any
// address. `count` is in elements. `out` may be `left` or `right` exactly (in place) but no other
// overlap is allowed.
struct Kernel {
  void (*apply)(void* out, const void* left, const void* right, std::size_t count, Stores stores);
  // The same result written to two places: what a pair of ranks needs for an Allreduce. Either
  // output may be either input exactly.
  void (*apply2)(void* out_a, void* out_b, const void* left, const void* right, std::size_t count,
                 Stores stores);
  // out[i] = (in[0][i] op in[1][i]) op (in[2][i] op in[3][i]), in one pass over all of them. `out`
  // may be one of them exactly.
  void (*apply4)(void* out, const void* const in[4], std::size_t count, Stores stores);
  // The result has the same bits in whatever order operands meet, and whoever computes it.
  bool exact = false;
};

// nullptr when MPI does not define `op` on `type` (or no kernel is worth having): ask the MPI.
[[nodiscard]] const Kernel* find(Op op, Type type);

// The reference: plain loops, one element at a time. Same answers to the bit.
[[nodiscard]] const Kernel* find_scalar(Op op, Type type);

// The instruction set the kernels of find() run on: "AVX3", "AVX2", "SSE4", "NEON", ...
[[nodiscard]] const char* target_name();

// memcpy with a choice of stores; the ranges do not overlap. Long copies do not use memcpy itself.
// glibc's long copies are one string instruction. On some processors that takes 15 times as long
// where the target lies up to 15 bytes behind the source modulo a page (docs/reduce.md).
inline constexpr std::size_t long_copy_bytes = std::size_t{2} << 10;
void copy_long(void* to, const void* from, std::size_t bytes, Stores stores);
inline void copy(void* to, const void* from, std::size_t bytes, Stores stores = Stores::plain) {
  if (bytes < long_copy_bytes)
    std::memcpy(to, from, bytes);
  else
    copy_long(to, from, bytes, stores);
}
// To two places.
void copy2(void* to_a, void* to_b, const void* from, std::size_t bytes, Stores stores);
// Swaps the contents of the two ranges, in one pass; they do not overlap.
void swap(void* a, void* b, std::size_t bytes);

}  // namespace tutti::reduce
