// SPDX-License-Identifier: BSD-3-Clause
// Internal to reduce/: what each operation means for one element. This is the definition; the SIMD
// operations in lanes-inl.h must give the same bits for every operand, NaN, -0 and denormals
// included.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "reduce/elements.h"

namespace tutti::reduce::scalar {

// Wide enough that no operand is promoted to a signed int, whose overflow would be undefined.
template <std::integral T>
using Wrapping = std::common_type_t<std::make_unsigned_t<T>, unsigned>;

// When both operands are NaN, hardware keeps the payload of the first. But compilers take + and *
// for commutative and swap operands as registers allow. Naming the NaN takes the choice from them.
template <std::floating_point T>
T add(T left, T right) {
  return left + (left != left ? left : right);
}
template <std::floating_point T>
T multiply(T left, T right) {
  return left * (left != left ? left : right);
}

struct Sum {
  template <std::integral T>
  static T of(T left, T right) {
    return static_cast<T>(static_cast<Wrapping<T>>(left) + static_cast<Wrapping<T>>(right));
  }
  template <std::floating_point T>
  static T of(T left, T right) {
    return add(left, right);
  }
  template <class T>
  static Complex<T> of(Complex<T> left, Complex<T> right) {
    return {add(left.re, right.re), add(left.im, right.im)};
  }
};

struct Prod {
  template <std::integral T>
  static T of(T left, T right) {
    return static_cast<T>(static_cast<Wrapping<T>>(left) * static_cast<Wrapping<T>>(right));
  }
  template <std::floating_point T>
  static T of(T left, T right) {
    return multiply(left, right);
  }
  // The schoolbook formula, without the recovery of infinities of C99's Annex G: the same as the
  // MPIs' own.
  template <class T>
  static Complex<T> of(Complex<T> left, Complex<T> right) {
    return {multiply(left.re, right.re) - multiply(left.im, right.im),
            add(multiply(left.re, right.im), multiply(left.im, right.re))};
  }
};

// `left` unless `right` is less: a NaN on either side, and zeros of either sign, give `left`.
struct Min {
  template <class T>
  static T of(T left, T right) {
    return right < left ? right : left;
  }
};
struct Max {
  template <class T>
  static T of(T left, T right) {
    return left < right ? right : left;
  }
};

struct LogicalAnd {
  template <class T>
  static T of(T left, T right) {
    return static_cast<T>(left != 0 && right != 0);
  }
};
struct LogicalOr {
  template <class T>
  static T of(T left, T right) {
    return static_cast<T>(left != 0 || right != 0);
  }
};
struct LogicalXor {
  template <class T>
  static T of(T left, T right) {
    return static_cast<T>((left != 0) != (right != 0));
  }
};

struct BitAnd {
  template <class T>
  static T of(T left, T right) {
    return static_cast<T>(left & right);
  }
};
struct BitOr {
  template <class T>
  static T of(T left, T right) {
    return static_cast<T>(left | right);
  }
};
struct BitXor {
  template <class T>
  static T of(T left, T right) {
    return static_cast<T>(left ^ right);
  }
};

// Whether `right` is the answer: its value is better, or equal at a lower index.
struct MinLoc {
  template <class P>
  static bool takes_right(const P& left, const P& right) {
    return right.value < left.value || (right.value == left.value && right.index < left.index);
  }
};
struct MaxLoc {
  template <class P>
  static bool takes_right(const P& left, const P& right) {
    return left.value < right.value || (right.value == left.value && right.index < left.index);
  }
};

// The 80-bit format of x87 leaves six bytes of its sixteen unused; they become zeros, so that equal
// results are equal bytes.
template <class T>
void store(T* to, T value) {
  constexpr bool padded = std::is_same_v<T, long double> &&
                          std::numeric_limits<long double>::digits == 64 && sizeof(T) > 10;
  if constexpr (padded) {
    std::memcpy(to, &value, 10);
    std::memset(reinterpret_cast<char*>(to) + 10, 0, sizeof(T) - 10);
  } else {
    *to = value;
  }
}

}  // namespace tutti::reduce::scalar
