// SPDX-License-Identifier: BSD-3-Clause
// The reference: plain loops over scalar.h. They are also what find() gives for types without a
// SIMD kernel (long double, pairs) and on processors without a known instruction set.
#include "reduce/scalar.h"

#include <algorithm>
#include <cstring>

#include "reduce/targets.h"

namespace tutti::reduce::scalar {
namespace {

// The two outputs are separate loops over one body: the compiler drops `out_b` where it is unused.
template <class F, class T, bool two>
void loop(void* out_a, void* out_b, const void* left, const void* right, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const T result = F::of(static_cast<const T*>(left)[i], static_cast<const T*>(right)[i]);
    store(static_cast<T*>(out_a) + i, result);
    if constexpr (two) store(static_cast<T*>(out_b) + i, result);
  }
}

// The winner is copied as bytes, also those that a long double leaves unused.
template <class F, class P, bool two>
void locate(void* out_a, void* out_b, const void* left, const void* right, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const P* l = static_cast<const P*>(left) + i;
    const P* r = static_cast<const P*>(right) + i;
    std::byte winner[sizeof(P)];
    std::memcpy(winner, F::takes_right(*l, *r) ? r : l, sizeof(P));
    std::memcpy(static_cast<P*>(out_a) + i, winner, sizeof(P));
    if constexpr (two) std::memcpy(static_cast<P*>(out_b) + i, winner, sizeof(P));
  }
}

template <class F, class T>
void loop4(void* out, const void* const in[4], std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto operand = [in, i](int q) { return static_cast<const T*>(in[q])[i]; };
    const T result = F::of(F::of(operand(0), operand(1)), F::of(operand(2), operand(3)));
    store(static_cast<T*>(out) + i, result);
  }
}

template <class F, class P>
void locate4(void* out, const void* const in[4], std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto operand = [in, i](int q) { return static_cast<const P*>(in[q]) + i; };
    const auto better = [](const P* l, const P* r) { return F::takes_right(*l, *r) ? r : l; };
    std::byte winner[sizeof(P)];
    std::memcpy(winner, better(better(operand(0), operand(1)), better(operand(2), operand(3))),
                sizeof(P));
    std::memcpy(static_cast<P*>(out) + i, winner, sizeof(P));
  }
}

template <auto* one, auto* two, auto* four>
constexpr Kernel kernel_of() {
  return {.apply = [](void* out, const void* left, const void* right, std::size_t count,
                      Stores) { one(out, nullptr, left, right, count); },
          .apply2 = [](void* out_a, void* out_b, const void* left, const void* right,
                       std::size_t count, Stores) { two(out_a, out_b, left, right, count); },
          .apply4 = [](void* out, const void* const in[4], std::size_t count,
                       Stores) { four(out, in, count); }};
}
template <class F, class T>
constexpr Kernel kernel = kernel_of<loop<F, T, false>, loop<F, T, true>, loop4<F, T>>();
template <class F, class P>
constexpr Kernel locator = kernel_of<locate<F, P, false>, locate<F, P, true>, locate4<F, P>>();

template <class T>
constexpr void add_arithmetic(Row& row) {
  row[index_of(Op::sum)] = kernel<Sum, T>;
  row[index_of(Op::prod)] = kernel<Prod, T>;
}
template <class T>
constexpr void add_order(Row& row) {
  row[index_of(Op::min)] = kernel<Min, T>;
  row[index_of(Op::max)] = kernel<Max, T>;
}
template <class T>
constexpr void add_logic(Row& row) {
  row[index_of(Op::land)] = kernel<LogicalAnd, T>;
  row[index_of(Op::lor)] = kernel<LogicalOr, T>;
  row[index_of(Op::lxor)] = kernel<LogicalXor, T>;
}
template <class T>
constexpr void add_bits(Row& row) {
  row[index_of(Op::band)] = kernel<BitAnd, T>;
  row[index_of(Op::bor)] = kernel<BitOr, T>;
  row[index_of(Op::bxor)] = kernel<BitXor, T>;
}

template <class T>
constexpr Row integer_row() {
  Row row{};
  add_arithmetic<T>(row);
  add_order<T>(row);
  add_logic<T>(row);
  add_bits<T>(row);
  mark_exact(row, sizeof(T));
  return row;
}
template <class T>
constexpr Row float_row() {
  Row row{};
  add_arithmetic<T>(row);
  add_order<T>(row);
  return row;
}
template <class T>
constexpr Row complex_row() {
  Row row{};
  add_arithmetic<Complex<T>>(row);
  return row;
}
template <class Value, class Index>
constexpr Row pair_row() {
  Row row{};
  row[index_of(Op::minloc)] = locator<MinLoc, Pair<Value, Index>>;
  row[index_of(Op::maxloc)] = locator<MaxLoc, Pair<Value, Index>>;
  return row;
}
constexpr Row boolean_row() {
  Row row{};
  add_logic<std::uint8_t>(row);
  mark_exact(row, 1);
  return row;
}

// In the order of Type.
constexpr std::array<Row, type_count> rows = {
    integer_row<std::int8_t>(),   integer_row<std::int16_t>(),
    integer_row<std::int32_t>(),  integer_row<std::int64_t>(),
    integer_row<std::uint8_t>(),  integer_row<std::uint16_t>(),
    integer_row<std::uint32_t>(), integer_row<std::uint64_t>(),
    float_row<float>(),           float_row<double>(),
    float_row<long double>(),     complex_row<float>(),
    complex_row<double>(),        pair_row<float, int>(),
    pair_row<double, int>(),      pair_row<std::int64_t, int>(),
    pair_row<int, int>(),         pair_row<std::int16_t, int>(),
    pair_row<long double, int>(), pair_row<float, float>(),
    pair_row<double, double>(),   boolean_row(),
};

void copy(void* to, const void* from, std::size_t bytes, Stores) { std::memcpy(to, from, bytes); }
void copy2(void* to_a, void* to_b, const void* from, std::size_t bytes, Stores) {
  std::memcpy(to_a, from, bytes);
  std::memcpy(to_b, from, bytes);
}
void swap(void* a, void* b, std::size_t bytes) {
  auto* one = static_cast<unsigned char*>(a);
  std::swap_ranges(one, one + bytes, static_cast<unsigned char*>(b));
}

}  // namespace

const Kernel& kernel_at(Op op, Type type) { return rows[index_of(type)][index_of(op)]; }

constinit const Copies copies = {copy, copy2, swap};

}  // namespace tutti::reduce::scalar
