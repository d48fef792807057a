// SPDX-License-Identifier: BSD-3-Clause
// Operands for the tests of reduce/: random, but dense in the values where implementations differ.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "reduce/elements.h"
#include "reduce/reduce.h"

namespace tutti::reduce::testing {

using Bytes = std::vector<std::byte>;

inline std::vector<Op> all_ops() {
  std::vector<Op> ops;
  for (int i = 0; i < op_count; ++i) ops.push_back(static_cast<Op>(i));
  return ops;
}
inline std::vector<Type> all_types() {
  std::vector<Type> types;
  for (int i = 0; i < type_count; ++i) types.push_back(static_cast<Type>(i));
  return types;
}

class Operands {
 public:
  explicit Operands(std::uint64_t seed) : random_(seed) {}

  Bytes make(Type type, std::size_t count) {
    Bytes bytes(count * size_of(type));
    for (std::byte& b : bytes) b = static_cast<std::byte>(random_());  // padding keeps these
    for (std::size_t i = 0; i < count; ++i) fill(type, bytes.data() + i * size_of(type));
    return bytes;
  }

 private:
  std::size_t below(std::size_t limit) { return random_() % limit; }

  template <class T>
  static void put(std::byte* to, std::size_t offset, T value) {
    // Of x87's long double only ten bytes are the value; the rest stays random.
    constexpr bool x87 =
        std::is_same_v<T, long double> && std::numeric_limits<long double>::digits == 64;
    std::memcpy(to + offset, &value, x87 ? 10 : sizeof(T));
  }

  template <class T>
  T integer() {
    switch (below(4)) {
      case 0:
        return 0;
      case 1:
        return static_cast<T>(below(5)) - 2;
      case 2:
        return below(2) ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min();
      default:
        return static_cast<T>(random_());
    }
  }

  // Bit patterns, because a NaN's payload and its signalling bit are part of the test.
  template <class F, class Bits>
  F real_of_bits() {
    constexpr int mantissa = std::numeric_limits<F>::digits - 1;
    constexpr Bits sign = Bits(1) << (8 * sizeof(F) - 1);
    constexpr Bits exponent = ~sign & (~Bits(0) << mantissa);
    constexpr Bits quiet = Bits(1) << (mantissa - 1);
    constexpr Bits one = std::bit_cast<Bits>(F(1));
    const Bits small = static_cast<Bits>(below(1000));
    const std::array<Bits, 10> special = {0,
                                          one,
                                          exponent,
                                          exponent | quiet,
                                          exponent | quiet | small,
                                          exponent | (1 + small),
                                          small,
                                          Bits(1) << mantissa,
                                          exponent - 1,
                                          one + small};
    Bits bits = static_cast<Bits>(random_());
    if (below(3) != 0) bits = special[below(special.size())] | (below(2) ? sign : 0);
    return std::bit_cast<F>(bits);
  }
  template <class F>
  F real() {
    if (below(4) == 0) return static_cast<F>(static_cast<int>(below(2001)) - 1000) / F(7);
    if constexpr (sizeof(F) == 4) {
      return real_of_bits<F, std::uint32_t>();
    } else if constexpr (sizeof(F) == 8) {
      return real_of_bits<F, std::uint64_t>();
    } else {
      using Limits = std::numeric_limits<F>;
      const std::array<F, 8> special = {0,
                                        1,
                                        Limits::infinity(),
                                        Limits::quiet_NaN(),
                                        Limits::denorm_min(),
                                        Limits::max(),
                                        Limits::min(),
                                        static_cast<F>(random_())};
      const F value = special[below(special.size())];
      return below(2) ? -value : value;
    }
  }

  // Few different values, so that ties are many.
  template <class Value, class Index>
  void pair(std::byte* to) {
    using P = Pair<Value, Index>;
    Value value = static_cast<Value>(static_cast<int>(below(4)) - 2);
    if constexpr (std::numeric_limits<Value>::has_quiet_NaN) {
      if (below(8) == 0) value = std::numeric_limits<Value>::quiet_NaN();
      if (below(8) == 0) value = -Value(0);
    }
    put(to, offsetof(P, value), value);
    put(to, offsetof(P, index), static_cast<Index>(static_cast<int>(below(6)) - 2));
  }

  void fill(Type type, std::byte* to) {
    switch (type) {
      case Type::i8:
        return put(to, 0, integer<std::int8_t>());
      case Type::i16:
        return put(to, 0, integer<std::int16_t>());
      case Type::i32:
        return put(to, 0, integer<std::int32_t>());
      case Type::i64:
        return put(to, 0, integer<std::int64_t>());
      case Type::u8:
        return put(to, 0, integer<std::uint8_t>());
      case Type::u16:
        return put(to, 0, integer<std::uint16_t>());
      case Type::u32:
        return put(to, 0, integer<std::uint32_t>());
      case Type::u64:
        return put(to, 0, integer<std::uint64_t>());
      case Type::f32:
        return put(to, 0, real<float>());
      case Type::f64:
        return put(to, 0, real<double>());
      case Type::f80:
        return put(to, 0, real<long double>());
      case Type::c64:
        put(to, 0, real<float>());
        return put(to, 4, real<float>());
      case Type::c128:
        put(to, 0, real<double>());
        return put(to, 8, real<double>());
      case Type::f32_i32:
        return pair<float, int>(to);
      case Type::f64_i32:
        return pair<double, int>(to);
      case Type::i64_i32:
        return pair<std::int64_t, int>(to);
      case Type::i32_i32:
        return pair<int, int>(to);
      case Type::i16_i32:
        return pair<std::int16_t, int>(to);
      case Type::f80_i32:
        return pair<long double, int>(to);
      case Type::f32_f32:
        return pair<float, float>(to);
      case Type::f64_f64:
        return pair<double, double>(to);
      case Type::boolean:
        return put(to, 0, static_cast<std::uint8_t>(below(8) == 7 ? 4 : below(2)));
    }
  }

  std::mt19937_64 random_;
};

// C++'s alignment of the element, which a caller of MPI must keep.
inline std::size_t alignment_of(Type type) {
  switch (type) {
    case Type::f80:
      return alignof(long double);
    case Type::c64:
    case Type::f32_i32:
    case Type::i32_i32:
    case Type::f32_f32:
      return 4;
    case Type::c128:
    case Type::f64_f64:
      return 8;
    case Type::f64_i32:  // packed
    case Type::i64_i32:
    case Type::i16_i32:
    case Type::f80_i32:
      return 1;
    default:
      return size_of(type);
  }
}

// A stretch of memory at a chosen offset from a 64-byte boundary, with guard bytes on both sides.
class Guarded {
 public:
  Guarded(std::size_t offset, std::size_t bytes)
      : storage_(bytes + 2 * guard + 128, guard_byte), bytes_(bytes) {
    const auto start = reinterpret_cast<std::uintptr_t>(storage_.data()) + guard;
    data_ = storage_.data() + guard + (64 - start % 64) % 64 + offset % 64;
  }
  // Not inlined: GCC 12 would warn of a copy of 2^64 bytes that cannot happen.
  [[gnu::noinline]] Guarded(std::size_t offset, const std::byte* from, std::size_t bytes)
      : Guarded(offset, bytes) {
    std::copy(from, from + bytes, data_);
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  std::byte* data() { return data_; }
  bool equals(const std::byte* expected) const {
    return bytes_ == 0 || std::memcmp(data_, expected, bytes_) == 0;
  }
  bool guards_intact() const {
    for (const std::byte* b = storage_.data(); b < data_; ++b) {
      if (*b != guard_byte) return false;
    }
    for (const std::byte* b = data_ + bytes_; b < storage_.data() + storage_.size(); ++b) {
      if (*b != guard_byte) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t guard = 128;
  static constexpr std::byte guard_byte{0xa5};
  Bytes storage_;
  std::byte* data_;
  std::size_t bytes_;
};

}  // namespace tutti::reduce::testing
