// SPDX-License-Identifier: BSD-3-Clause
// Element kinds for tests of collectives. Most of their operations neither commute nor associate,
// so that a result is right only if operands meet in the one order that is meant, each of them
// once.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "reduce/reduce.h"

namespace tutti::test {

using reduce::Stores;

// splitmix64's finaliser: one seed becomes many.
constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Odd factors make the result depend on every bit of both operands.
struct Hash {
  template <class T>
  static T of(T left, T right) {
    return static_cast<T>(left * T{61} + right * T{7} + T{1});
  }
};
struct Sum {
  template <class T>
  static T of(T left, T right) {
    return left + right;
  }
};
// Two by two matrices modulo 2^16: associative, but not commutative.
struct Matrix {
  std::array<std::uint16_t, 4> m;
};
struct Product {
  static Matrix of(const Matrix& a, const Matrix& b) {
    Matrix c;
    for (std::size_t i = 0; i < 4; ++i)
      c.m[i] = static_cast<std::uint16_t>(std::uint32_t{a.m[i / 2 * 2]} * b.m[i % 2] +
                                          std::uint32_t{a.m[i / 2 * 2 + 1]} * b.m[2 + i % 2]);
    return c;
  }
};

// An output may be an operand, but not lie across one.
inline void check_places(const void* out, const void* operand, std::size_t bytes) {
  const auto a = reinterpret_cast<std::uintptr_t>(out),
             b = reinterpret_cast<std::uintptr_t>(operand);
  if (a != b && a < b + bytes && b < a + bytes) std::abort();
}

// `words` values of T are one element.
template <class T, std::size_t words, class Operation>
void apply(void* out, const void* left, const void* right, std::size_t count, Stores) {
  auto* o = static_cast<T*>(out);
  const auto* l = static_cast<const T*>(left);
  const auto* r = static_cast<const T*>(right);
  for (const void* operand : {left, right}) check_places(out, operand, count * words * sizeof(T));
  for (std::size_t i = 0; i < count * words; ++i) o[i] = Operation::of(l[i], r[i]);
}
template <class T, std::size_t words, class Operation>
void apply2(void* out_a, void* out_b, const void* left, const void* right, std::size_t count,
            Stores) {
  auto* a = static_cast<T*>(out_a);
  auto* b = static_cast<T*>(out_b);
  const auto* l = static_cast<const T*>(left);
  const auto* r = static_cast<const T*>(right);
  for (std::size_t i = 0; i < count * words; ++i) a[i] = b[i] = Operation::of(l[i], r[i]);
}

template <class T, std::size_t words, class Operation>
void apply4(void* out, const void* const in[4], std::size_t count, Stores) {
  auto* o = static_cast<T*>(out);
  const auto operand = [in](int q) { return static_cast<const T*>(in[q]); };
  for (int q = 0; q < 4; ++q) check_places(out, in[q], count * words * sizeof(T));
  for (std::size_t i = 0; i < count * words; ++i)
    o[i] = Operation::of(Operation::of(operand(0)[i], operand(1)[i]),
                         Operation::of(operand(2)[i], operand(3)[i]));
}

// Set on threads of ranks: no other may apply the operation of a late reduction.
inline thread_local bool t_is_rank = false;
inline std::atomic<int> applied_by_others{0};
template <auto apply>
struct OnRanks;
template <class... Arguments, void (*apply)(Arguments...)>
struct OnRanks<apply> {
  static void run(Arguments... arguments) {
    if (!t_is_rank) ++applied_by_others;
    apply(arguments...);
  }
};

struct Kind {
  const char* name;
  std::size_t bytes;      // of an element
  std::size_t alignment;  // of an element
  bool is_float;          // 32 bits each: random bits would not do as values
  bool associates;        // (a op b) op c is a op (b op c), to the bit
  reduce::Kernel kernel;
  reduce::Kernel late;  // the same, of late reductions
};

template <class T, std::size_t words, class Operation>
constexpr Kind kind(const char* name) {
  return {name,
          sizeof(T) * words,
          alignof(T),
          std::is_same_v<T, float>,
          !std::is_same_v<T, float> && !std::is_same_v<Operation, Hash>,
          {apply<T, words, Operation>, apply2<T, words, Operation>, apply4<T, words, Operation>},
          {OnRanks<apply<T, words, Operation>>::run, OnRanks<apply2<T, words, Operation>>::run,
           OnRanks<apply4<T, words, Operation>>::run}};
}

inline constexpr Kind kinds[] = {
    kind<std::uint64_t, 1, Hash>("hash of 8"),  kind<std::uint8_t, 1, Hash>("hash of 1"),
    kind<std::uint32_t, 3, Hash>("hash of 12"), kind<std::uint64_t, 3, Hash>("hash of 24"),
    kind<Matrix, 1, Product>("matrix"),         kind<float, 1, Sum>("float sum"),
    kind<std::uint64_t, 3, Sum>("sum of 24"),   kind<std::uint32_t, 201, Hash>("hash of 804"),
};

// Values that depend on the seed and the position.
inline void fill(const Kind& what, std::uint64_t seed, std::span<std::byte> out) {
  std::uint64_t x = mix(seed);
  const auto next = [&x, is_float = what.is_float] {
    x += 0x9e3779b97f4a7c15u;
    const std::uint64_t word = x ^ (x >> 29);
    // Floats get any sign and mantissa; exponents that make every sum round.
    return is_float ? (word & 0x877fffff'877fffffu) | 0x3c000000'3c000000u : word;
  };
  std::size_t i = 0;
  for (; i + 8 <= out.size(); i += 8) {
    const std::uint64_t word = next();
    std::memcpy(out.data() + i, &word, 8);
  }
  if (i < out.size()) {
    const std::uint64_t word = next();
    std::memcpy(out.data() + i, &word, out.size() - i);
  }
}

}  // namespace tutti::test
