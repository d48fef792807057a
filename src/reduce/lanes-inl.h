// SPDX-License-Identifier: BSD-3-Clause
// Internal to reduce/: the operations of scalar.h on a vector of lanes, compiled once per
// instruction set. Everything is in the set's own namespace, so that no function compiled for a
// newer processor can be merged by the linker with one that older processors run.

// Highway's include guard for headers that are read once per target.
#if defined(TUTTI_REDUCE_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_REDUCE_LANES_INL_H_
#undef TUTTI_REDUCE_LANES_INL_H_
#else
#define TUTTI_REDUCE_LANES_INL_H_
#endif

#include <hwy/highway.h>

#if TUTTI_SIMD_TARGETS & HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace tutti::reduce {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Add and multiply of floats whose first operand's NaN wins, as in scalar.h. On x86 the instruction
// does that by itself as long as nobody swaps its operands, which only assembly can promise.
#if HWY_ARCH_X86
#if HWY_TARGET == HWY_SSE4
#define TUTTI_ORDERED(instruction, left, right) \
  asm(instruction " %1, %0" : "+x"(left.raw) : "x"(right.raw))
#else
#define TUTTI_ORDERED(instruction, left, right) \
  asm("v" instruction " %1, %0, %0" : "+v"(left.raw) : "v"(right.raw))
#endif
template <class V>
HWY_INLINE V ordered_add(V left, V right) {
  if constexpr (sizeof(hn::TFromV<V>) == 4) {
    TUTTI_ORDERED("addps", left, right);
  } else {
    TUTTI_ORDERED("addpd", left, right);
  }
  return left;
}
template <class V>
HWY_INLINE V ordered_multiply(V left, V right) {
  if constexpr (sizeof(hn::TFromV<V>) == 4) {
    TUTTI_ORDERED("mulps", left, right);
  } else {
    TUTTI_ORDERED("mulpd", left, right);
  }
  return left;
}
#undef TUTTI_ORDERED
#else
template <class V>
HWY_INLINE V ordered_add(V left, V right) {
  return hn::Add(left, hn::IfThenElse(hn::IsNaN(left), left, right));
}
template <class V>
HWY_INLINE V ordered_multiply(V left, V right) {
  return hn::Mul(left, hn::IfThenElse(hn::IsNaN(left), left, right));
}
#endif

// `granule`: the lanes that belong together.
struct Lanewise {
  static constexpr std::size_t granule = 1;
};

struct Sum : Lanewise {
  template <class D, class V = hn::VFromD<D>>
  static HWY_INLINE V of(D, V left, V right) {
    if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
      return ordered_add(left, right);
    } else {
      return hn::Add(left, right);
    }
  }
};

struct Prod : Lanewise {
  template <class D, class V = hn::VFromD<D>>
  static HWY_INLINE V of(D d, V left, V right) {
    using T = hn::TFromD<D>;
    if constexpr (hwy::IsFloat<T>()) {
      return ordered_multiply(left, right);
    } else if constexpr (sizeof(T) > 1) {
      return hn::Mul(left, right);
    } else if constexpr (hn::MaxLanes(D()) == 1) {
      return hn::Set(d, static_cast<T>(hn::GetLane(left) * hn::GetLane(right)));
    } else {
      // The low byte of a product needs only the low bytes of its factors.
      const hn::RepartitionToWide<D> wide;
      const auto l = hn::BitCast(wide, left);
      const auto r = hn::BitCast(wide, right);
      const auto even = hn::And(hn::Mul(l, r), hn::Set(wide, 0xff));
      const auto odd = hn::Mul(hn::ShiftRight<8>(l), hn::ShiftRight<8>(r));
      return hn::BitCast(d, hn::Or(even, hn::ShiftLeft<8>(odd)));
    }
  }
};

// (a + bi)(c + di) = (ac - bd) + (ad + bc)i on lanes re, im, re, im, ...
struct ComplexProd {
  static constexpr std::size_t granule = 2;
  template <class D, class V = hn::VFromD<D>>
  static HWY_INLINE V of(D d, V left, V right) {
    const V by_re = ordered_multiply(hn::DupEven(left), right);                  // ac, ad
    const V by_im = ordered_multiply(hn::DupOdd(left), hn::Reverse2(d, right));  // bd, bc
    return hn::OddEven(ordered_add(by_re, by_im), hn::Sub(by_re, by_im));
  }
};

// x86's instructions are `first < second ? first : second` to the bit; elsewhere the comparison is
// spelled out.
struct Min : Lanewise {
  template <class D, class V = hn::VFromD<D>>
  static HWY_INLINE V of(D, V left, V right) {
    if constexpr (HWY_ARCH_X86 || !hwy::IsFloat<hn::TFromD<D>>()) {
      return hn::Min(right, left);
    } else {
      return hn::IfThenElse(hn::Lt(right, left), right, left);
    }
  }
};
struct Max : Lanewise {
  template <class D, class V = hn::VFromD<D>>
  static HWY_INLINE V of(D, V left, V right) {
    if constexpr (HWY_ARCH_X86 || !hwy::IsFloat<hn::TFromD<D>>()) {
      return hn::Max(right, left);
    } else {
      return hn::IfThenElse(hn::Lt(left, right), right, left);
    }
  }
};

struct LogicalAnd : Lanewise {
  template <class D, class V = hn::VFromD<D>>
  static HWY_INLINE V of(D d, V left, V right) {
    const V zero = hn::Zero(d);
    const auto is_false = hn::Or(hn::Eq(left, zero), hn::Eq(right, zero));
    return hn::IfThenZeroElse(is_false, hn::Set(d, 1));
  }
};
struct LogicalOr : Lanewise {
  template <class D, class V = hn::VFromD<D>>
  static HWY_INLINE V of(D d, V left, V right) {
    return hn::IfThenZeroElse(hn::Eq(hn::Or(left, right), hn::Zero(d)), hn::Set(d, 1));
  }
};
struct LogicalXor : Lanewise {
  template <class D, class V = hn::VFromD<D>>
  static HWY_INLINE V of(D d, V left, V right) {
    const V zero = hn::Zero(d);
    const auto differ = hn::Xor(hn::Eq(left, zero), hn::Eq(right, zero));
    return hn::IfThenElseZero(differ, hn::Set(d, 1));
  }
};

struct BitAnd : Lanewise {
  template <class D, class V = hn::VFromD<D>>
  static HWY_INLINE V of(D, V left, V right) {
    return hn::And(left, right);
  }
};
struct BitOr : Lanewise {
  template <class D, class V = hn::VFromD<D>>
  static HWY_INLINE V of(D, V left, V right) {
    return hn::Or(left, right);
  }
};
struct BitXor : Lanewise {
  template <class D, class V = hn::VFromD<D>>
  static HWY_INLINE V of(D, V left, V right) {
    return hn::Xor(left, right);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace tutti::reduce
HWY_AFTER_NAMESPACE();
#endif

#endif
