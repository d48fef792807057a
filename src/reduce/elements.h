// SPDX-License-Identifier: BSD-3-Clause
// Internal to reduce/: the C++ type of each Type, and which operations MPI defines on it.
#pragma once

#include <array>
#include <cstdint>

#include "reduce/reduce.h"

namespace tutti::reduce {

// Without the gaps of a C struct.
template <class Value, class Index>
struct [[gnu::packed]] Pair {
  Value value;
  Index index;
};

template <class Float>
struct Complex {
  Float re;
  Float im;
};

// The operations on one type; nullptr members where MPI defines none.
using Row = std::array<Kernel, op_count>;

constexpr int index_of(Op op) { return static_cast<int>(op); }
constexpr int index_of(Type type) { return static_cast<int>(type); }

// In a row of integers of so many bytes. An MPI may saturate sums of one or two bytes (Open MPI),
// and take signed integers for unsigned ones to find the least (Open MPI, MPICH 4.0).
constexpr void mark_exact(Row& row, std::size_t bytes) {
  for (const Op op : {Op::land, Op::lor, Op::lxor, Op::band, Op::bor, Op::bxor})
    row[static_cast<std::size_t>(index_of(op))].exact = true;
  if (bytes < 4) return;
  for (const Op op : {Op::sum, Op::prod}) row[static_cast<std::size_t>(index_of(op))].exact = true;
}

constexpr bool is_complex(Type type) { return type == Type::c64 || type == Type::c128; }
constexpr bool is_pair(Type type) { return type >= Type::f32_i32 && type <= Type::f64_f64; }

// MPI-4.1, sections 6.9.2 and 6.9.4. A boolean is no C integer there: it has no bitwise operations.
constexpr bool is_defined(Op op, Type type) {
  const bool location = op == Op::minloc || op == Op::maxloc;
  if (is_integer(type)) return !location;
  if (is_pair(type)) return location;
  if (is_complex(type)) return op == Op::sum || op == Op::prod;
  if (type == Type::boolean) return op == Op::land || op == Op::lor || op == Op::lxor;
  return op == Op::sum || op == Op::prod || op == Op::min || op == Op::max;
}

}  // namespace tutti::reduce
