// SPDX-License-Identifier: BSD-3-Clause
// The scalar reference against answers worked out by hand from the MPI standard: the other tests
// trust it.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "reduce/elements.h"

namespace tutti::reduce {
namespace {

template <class T>
T result(Op op, Type type, T left, T right) {
  T out = left;
  find_scalar(op, type)->apply(&out, &left, &right, 1, Stores::plain);
  T out_a, out_b;
  std::memset(static_cast<void*>(&out_a), 0x5a, sizeof(T));
  std::memset(static_cast<void*>(&out_b), 0x5a, sizeof(T));
  find_scalar(op, type)->apply2(&out_a, &out_b, &left, &right, 1, Stores::plain);
  EXPECT_EQ(std::memcmp(&out_a, &out_b, sizeof(T)), 0);
  return out;
}

TEST(ReduceScalar, IntegersWrap) {
  EXPECT_EQ(result<std::int8_t>(Op::sum, Type::i8, 127, 1), -128);
  EXPECT_EQ(result<std::int16_t>(Op::prod, Type::i16, -32768, -1), -32768);
  EXPECT_EQ(result<std::uint16_t>(Op::prod, Type::u16, 65535, 65535), 1);
  EXPECT_EQ(result<std::int32_t>(Op::prod, Type::i32, 65536, 65537), 65536);
  EXPECT_EQ(result<std::int64_t>(Op::sum, Type::i64, INT64_MAX, 1), INT64_MIN);
  EXPECT_EQ(result<std::int64_t>(Op::prod, Type::i64, -3, 7), -21);
  EXPECT_EQ(result<std::uint64_t>(Op::prod, Type::u64, 1ull << 63, 3), 1ull << 63);
  EXPECT_EQ(result<std::uint8_t>(Op::sum, Type::u8, 200, 100), 44);
}

TEST(ReduceScalar, OrderKnowsSigns) {
  EXPECT_EQ(result<std::int8_t>(Op::min, Type::i8, -1, 1), -1);
  EXPECT_EQ(result<std::uint8_t>(Op::min, Type::u8, 255, 1), 1);
  EXPECT_EQ(result<std::int64_t>(Op::max, Type::i64, -1, 1), 1);
  EXPECT_EQ(result<std::uint64_t>(Op::max, Type::u64, UINT64_MAX, 1), UINT64_MAX);
  EXPECT_EQ(result<float>(Op::max, Type::f32, -2.0f, -3.0f), -2.0f);
  EXPECT_EQ(result<long double>(Op::min, Type::f80, 2.0L, -3.0L), -3.0L);
}

TEST(ReduceScalar, LogicGivesZeroAndOne) {
  EXPECT_EQ(result<std::int32_t>(Op::land, Type::i32, 8, -4), 1);
  EXPECT_EQ(result<std::int32_t>(Op::land, Type::i32, 8, 0), 0);
  EXPECT_EQ(result<std::int16_t>(Op::lor, Type::i16, 0, 256), 1);
  EXPECT_EQ(result<std::int16_t>(Op::lor, Type::i16, 0, 0), 0);
  EXPECT_EQ(result<std::uint64_t>(Op::lxor, Type::u64, 1, 2), 0u);
  EXPECT_EQ(result<std::uint64_t>(Op::lxor, Type::u64, 0, 2), 1u);
  EXPECT_EQ(result<std::uint8_t>(Op::land, Type::boolean, 1, 1), 1);
  EXPECT_EQ(result<std::uint8_t>(Op::lxor, Type::boolean, 1, 1), 0);
}

TEST(ReduceScalar, BitsStayBits) {
  EXPECT_EQ(result<std::uint8_t>(Op::band, Type::u8, 0b1100, 0b1010), 0b1000);
  EXPECT_EQ(result<std::int32_t>(Op::bor, Type::i32, 0b1100, 0b1010), 0b1110);
  EXPECT_EQ(result<std::int64_t>(Op::bxor, Type::i64, 0b1100, 0b1010), 0b0110);
}

TEST(ReduceScalar, FloatsFollowIeee) {
  EXPECT_EQ(result<double>(Op::sum, Type::f64, 0.1, 0.2), 0.1 + 0.2);
  EXPECT_EQ(result<float>(Op::prod, Type::f32, 0x1p-100f, 0x1p-49f), 0x1p-149f);  // denormal
  EXPECT_TRUE(std::isnan(result<float>(Op::sum, Type::f32, INFINITY, -INFINITY)));
  EXPECT_EQ(result<long double>(Op::sum, Type::f80, 1.0L, 0x1p-60L), 1.0L + 0x1p-60L);
}

// NaN and signed zeros: the header's `right < left ? right : left`, and the first NaN of two.
TEST(ReduceScalar, TheLeftOperandWinsWhatIsUndecided) {
  const float nan_a = std::bit_cast<float>(0x7fc00123u), nan_b = std::bit_cast<float>(0xffc00456u);
  const auto bits = [](float f) { return std::bit_cast<std::uint32_t>(f); };
  for (const Op op : {Op::min, Op::max}) {
    EXPECT_EQ(bits(result<float>(op, Type::f32, nan_a, 1)), bits(nan_a));
    EXPECT_EQ(bits(result<float>(op, Type::f32, 1, nan_a)), bits(1));
    EXPECT_EQ(bits(result<float>(op, Type::f32, -0.0f, 0.0f)), bits(-0.0f));
    EXPECT_EQ(bits(result<float>(op, Type::f32, 0.0f, -0.0f)), bits(0.0f));
  }
  for (const Op op : {Op::sum, Op::prod}) {
    EXPECT_EQ(bits(result<float>(op, Type::f32, nan_a, nan_b)), bits(nan_a));
    EXPECT_EQ(bits(result<float>(op, Type::f32, nan_b, nan_a)), bits(nan_b));
    EXPECT_EQ(bits(result<float>(op, Type::f32, 1, nan_b)), bits(nan_b));
  }
}

TEST(ReduceScalar, ComplexNumbers) {
  using C = Complex<double>;
  const C sum = result<C>(Op::sum, Type::c128, {1, 2}, {3, 5});
  EXPECT_EQ(sum.re, 4);
  EXPECT_EQ(sum.im, 7);
  const C product = result<C>(Op::prod, Type::c128, {1, 2}, {3, 5});
  EXPECT_EQ(product.re, -7);
  EXPECT_EQ(product.im, 11);
  // No fused multiply-add: the plain formula gives exactly zero here.
  const double x = 1 + 0x1p-30;
  EXPECT_EQ(result<C>(Op::prod, Type::c128, {x, x}, {x, x}).re, 0);
}

template <class Value, class Index>
void check_locations(Type type) {
  using P = Pair<Value, Index>;
  struct Expectation {
    Op op;
    P left, right, expected;
  };
  const Expectation expectations[] = {
      {Op::minloc, {1, 7}, {2, 3}, {1, 7}}, {Op::minloc, {2, 7}, {1, 9}, {1, 9}},
      {Op::minloc, {1, 7}, {1, 3}, {1, 3}}, {Op::minloc, {1, 3}, {1, 7}, {1, 3}},
      {Op::maxloc, {1, 7}, {2, 9}, {2, 9}}, {Op::maxloc, {2, 7}, {1, 3}, {2, 7}},
      {Op::maxloc, {1, 7}, {1, 3}, {1, 3}}, {Op::maxloc, {-1, 3}, {-1, 7}, {-1, 3}},
  };
  for (const Expectation& e : expectations) {
    const P got = result<P>(e.op, type, e.left, e.right);
    EXPECT_EQ(got.value, e.expected.value) << name_of(e.op) << " " << name_of(type);
    EXPECT_EQ(got.index, e.expected.index) << name_of(e.op) << " " << name_of(type);
  }
  EXPECT_EQ(size_of(type), sizeof(P));
}

TEST(ReduceScalar, LocationsTakeTheLowerIndexOnTies) {
  check_locations<float, int>(Type::f32_i32);
  check_locations<double, int>(Type::f64_i32);
  check_locations<std::int64_t, int>(Type::i64_i32);
  check_locations<int, int>(Type::i32_i32);
  check_locations<std::int16_t, int>(Type::i16_i32);
  check_locations<long double, int>(Type::f80_i32);
  check_locations<float, float>(Type::f32_f32);
  check_locations<double, double>(Type::f64_f64);
}

TEST(ReduceScalar, UnusedBytesComeFromTheWinnerOrAreZero) {
  using P = Pair<long double, int>;
  alignas(long double) unsigned char left[sizeof(P)], right[sizeof(P)], out[sizeof(P)];
  std::memset(left, 0x11, sizeof(P));
  std::memset(right, 0x22, sizeof(P));
  std::memset(out, 0x33, sizeof(P));
  const long double two = 2, less = 1;
  constexpr std::size_t used = std::numeric_limits<long double>::digits == 64 ? 10 : sizeof two;
  std::memcpy(left, &two, used);
  std::memcpy(right, &less, used);
  find_scalar(Op::minloc, Type::f80_i32)->apply(out, left, right, 1, Stores::plain);
  EXPECT_EQ(std::memcmp(out, right, sizeof(P)), 0);
  find_scalar(Op::maxloc, Type::f80_i32)->apply(out, left, right, 1, Stores::plain);
  EXPECT_EQ(std::memcmp(out, left, sizeof(P)), 0);

  if (std::numeric_limits<long double>::digits != 64) return;
  const long double one = 1;
  alignas(long double) unsigned char sum[sizeof(long double)];
  std::memset(sum, 0x33, sizeof sum);
  find_scalar(Op::sum, Type::f80)->apply(sum, &one, &one, 1, Stores::plain);
  for (std::size_t i = 10; i < sizeof sum; ++i) EXPECT_EQ(sum[i], 0) << i;
}

// MPI-4.1, table in 6.9.2, counted by hand: 8 integer types of 10 operations, 3 floats of 4, 2
// complex of 2, 8 pairs of 2, boolean of 3.
TEST(ReduceScalar, AsManyKernelsAsMpiDefines) {
  int kernels = 0;
  for (int o = 0; o < op_count; ++o) {
    for (int t = 0; t < type_count; ++t) {
      const Kernel* kernel = find_scalar(static_cast<Op>(o), static_cast<Type>(t));
      if (kernel == nullptr) continue;
      EXPECT_NE(kernel->apply, nullptr);
      EXPECT_NE(kernel->apply2, nullptr);
      EXPECT_NE(kernel->apply4, nullptr);
      ++kernels;
    }
  }
  EXPECT_EQ(kernels, 8 * 10 + 3 * 4 + 2 * 2 + 8 * 2 + 3);
  EXPECT_EQ(find_scalar(Op::minloc, Type::i32), nullptr);
  EXPECT_EQ(find_scalar(Op::band, Type::f32), nullptr);
  EXPECT_EQ(find_scalar(Op::max, Type::c64), nullptr);
  EXPECT_EQ(find_scalar(Op::band, Type::boolean), nullptr);
  EXPECT_EQ(find_scalar(Op::sum, Type::f32_i32), nullptr);
}

TEST(ReduceScalar, SizesAndNames) {
  EXPECT_EQ(size_of(Type::i8), 1u);
  EXPECT_EQ(size_of(Type::u64), 8u);
  EXPECT_EQ(size_of(Type::f80), sizeof(long double));
  EXPECT_EQ(size_of(Type::c64), 8u);
  EXPECT_EQ(size_of(Type::c128), 16u);
  EXPECT_EQ(size_of(Type::i16_i32), 6u);
  EXPECT_EQ(size_of(Type::f64_i32), 12u);
  EXPECT_EQ(size_of(Type::boolean), sizeof(bool));
  EXPECT_STREQ(name_of(Type::boolean), "boolean");
  EXPECT_STREQ(name_of(Type::f64_f64), "f64_f64");
  EXPECT_STREQ(name_of(Op::maxloc), "maxloc");
}

}  // namespace
}  // namespace tutti::reduce
