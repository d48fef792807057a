// SPDX-License-Identifier: BSD-3-Clause
// Internal to reduce/: the one loop behind every kernel and copy, compiled once per instruction
// set.
//
// The first and the last vector are computed before the loop and stored after it. So every element
// goes through the same vector operation, however many there are and wherever they lie; the loop
// between them can start where the output is aligned and needs no remainder; and an output that is
// also an input is safe, since no element is read after it was written.

// Highway's include guard for headers that are read once per target.
#if defined(TUTTI_REDUCE_LOOPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_REDUCE_LOOPS_INL_H_
#undef TUTTI_REDUCE_LOOPS_INL_H_
#else
#define TUTTI_REDUCE_LOOPS_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "arch/arch.h"
#include "reduce/reduce.h"

#if TUTTI_SIMD_TARGETS & HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace tutti::reduce {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class F, class T>
struct Combined {
  using Lane = T;
  static constexpr std::size_t granule = F::granule;
  const T* left;
  const T* right;

  template <class D>
  HWY_INLINE hn::VFromD<D> at(D d, std::size_t i) const {
    return F::of(d, hn::LoadU(d, left + i), hn::LoadU(d, right + i));
  }
};

// The same of four operands: (first op second) op (third op fourth).
template <class F, class T>
struct Combined4 {
  using Lane = T;
  static constexpr std::size_t granule = F::granule;
  Combined<F, T> left;
  Combined<F, T> right;

  template <class D>
  HWY_INLINE hn::VFromD<D> at(D d, std::size_t i) const {
    return F::of(d, left.at(d, i), right.at(d, i));
  }
};

struct Copied {
  using Lane = std::uint8_t;
  static constexpr std::size_t granule = 1;
  const std::uint8_t* from;

  template <class D>
  HWY_INLINE hn::VFromD<D> at(D d, std::size_t i) const {
    return hn::LoadU(d, from + i);
  }
};

// How the loop stores. `ahead` is plain stores to lines that were asked for in advance; the last
// two are for outputs that are never aligned together: non-temporal stores of 16 bytes, which fill
// lines as well, and at the last for the first output only.
enum class StoreMode { plain, ahead, streamed, narrow_streamed, first_streamed };

// From this size of an output on, the operands are beyond the first cache, and asking for the
// output's lines early pays: docs/reduce.md has the figures. In the first cache it would cost.
constexpr std::size_t ahead_bytes = std::size_t{32} << 10;
constexpr std::size_t ahead_distance_bytes = 1024;

template <class T>
struct OneOutput {
  static constexpr bool two = false;
  T* first;

  template <StoreMode way, class D>
  HWY_INLINE void put(D d, hn::VFromD<D> v, std::size_t i) const {
    if constexpr (way == StoreMode::plain || way == StoreMode::ahead) {
      hn::StoreU(v, d, first + i);
    } else {
      hn::Stream(v, d, first + i);
    }
  }
  HWY_INLINE void prefetch(std::size_t i, std::size_t bytes) const {
    const auto* from = reinterpret_cast<const char*>(first + i) + ahead_distance_bytes;
    for (std::size_t b = 0; b < bytes; b += 64) arch::prefetch_for_writing(from + b);
  }
};

template <class T>
struct TwoOutputs {
  static constexpr bool two = true;
  T* first;
  T* second;

  template <StoreMode way, class D>
  HWY_INLINE void put(D d, hn::VFromD<D> v, std::size_t i) const {
    OneOutput<T>{first}.template put<way>(d, v, i);
    OneOutput<T>{second}.template put<way == StoreMode::first_streamed ? StoreMode::plain : way>(
        d, v, i);
  }
  HWY_INLINE void prefetch(std::size_t i, std::size_t bytes) const {
    OneOutput<T>{first}.prefetch(i, bytes);
    OneOutput<T>{second}.prefetch(i, bytes);
  }
};

template <class T>
HWY_INLINE std::size_t misalignment(const T* address, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(address) & (alignment - 1);
}

template <class D, class Out>
HWY_INLINE StoreMode choose_way(D, const Out& out, std::size_t begin, std::size_t count,
                                Stores stores) {
  constexpr std::size_t lane_bytes = sizeof(hn::TFromD<D>);
  constexpr std::size_t vector_bytes = hn::MaxLanes(D()) * lane_bytes;
  // Non-temporal stores fault where they are not aligned. The first output can only be unaligned
  // here for complex numbers, and for callers who do not keep the alignment of their type.
  if (stores == Stores::plain || misalignment(out.first + begin, vector_bytes) != 0) {
    return count * lane_bytes < ahead_bytes ? StoreMode::plain : StoreMode::ahead;
  }
  if constexpr (Out::two) {
    const std::size_t off = misalignment(out.second + begin, vector_bytes);
    if (off % 16 != 0) return StoreMode::first_streamed;
    if (off != 0) return StoreMode::narrow_streamed;
  }
  return StoreMode::streamed;
}

// Whole vectors from `begin` on until `end` is reached or passed, by less than a vector.
template <StoreMode way, class D, class In, class Out>
HWY_INLINE void fill(D d, const In& in, const Out& out, std::size_t begin, std::size_t end) {
  constexpr std::size_t lanes = hn::MaxLanes(D());
  std::size_t i = begin;
  // The rare ways are bound by memory with or without unrolling.
  if constexpr (way == StoreMode::plain || way == StoreMode::ahead || way == StoreMode::streamed) {
    for (; i + 4 * lanes <= end; i += 4 * lanes) {
      if constexpr (way == StoreMode::ahead) out.prefetch(i, 4 * sizeof(hn::VFromD<D>));
      const auto v0 = in.at(d, i);
      const auto v1 = in.at(d, i + lanes);
      const auto v2 = in.at(d, i + 2 * lanes);
      const auto v3 = in.at(d, i + 3 * lanes);
      out.template put<way>(d, v0, i);
      out.template put<way>(d, v1, i + lanes);
      out.template put<way>(d, v2, i + 2 * lanes);
      out.template put<way>(d, v3, i + 3 * lanes);
    }
  }
  for (; i < end; i += lanes) out.template put<way>(d, in.at(d, i), i);
}

template <class D, class In, class Out>
HWY_INLINE void fill(StoreMode way, D d, const In& in, const Out& out, std::size_t begin,
                     std::size_t end) {
  switch (way) {
    case StoreMode::plain:
      return fill<StoreMode::plain>(d, in, out, begin, end);
    case StoreMode::ahead:
      return fill<StoreMode::ahead>(d, in, out, begin, end);
    case StoreMode::streamed:
      return fill<StoreMode::streamed>(d, in, out, begin, end);
    default:
      break;
  }
  if constexpr (Out::two) {
    if (way == StoreMode::first_streamed)
      return fill<StoreMode::first_streamed>(d, in, out, begin, end);
    fill<StoreMode::narrow_streamed>(hn::Full128<typename In::Lane>(), in, out, begin, end);
  }
}

// Fewer than two vectors: the first and the last one, which may overlap, of the widest that fit.
template <class D, class In, class Out>
HWY_INLINE void run_few(D d, const In& in, const Out& out, std::size_t count) {
  constexpr std::size_t lanes = hn::MaxLanes(D());
  if (count >= lanes) {
    const auto head = in.at(d, 0);
    const auto tail = in.at(d, count - lanes);
    out.template put<StoreMode::plain>(d, head, 0);
    out.template put<StoreMode::plain>(d, tail, count - lanes);
  } else if constexpr (lanes > In::granule) {
    run_few(hn::Half<D>(), in, out, count);
  }
}

// `count` is in lanes.
template <class In, class Out>
HWY_INLINE void run(const In& in, const Out& out, std::size_t count, Stores stores) {
  using T = typename In::Lane;
  const hn::ScalableTag<T> d;
  constexpr std::size_t lanes = hn::MaxLanes(hn::ScalableTag<T>());
  if (count < 2 * lanes) return run_few(d, in, out, count);

  // Between one lane and a whole vector. Complex numbers may lie so that no number begins on a
  // boundary; then nothing is gained by moving, and nothing can stream.
  std::size_t begin = lanes - misalignment(out.first, lanes * sizeof(T)) / sizeof(T);
  if (begin % In::granule != 0) begin = lanes;
  const std::size_t end = count - lanes;
  const auto head = in.at(d, 0);
  const auto tail = in.at(d, end);
  fill(choose_way(d, out, begin, count, stores), d, in, out, begin, end);
  out.template put<StoreMode::plain>(d, head, 0);
  out.template put<StoreMode::plain>(d, tail, end);
  // Non-temporal stores are not ordered by a later release store; after this they are.
  if (stores == Stores::streaming) hwy::FlushStream();
}

// One kernel for all types that are `lanes_each` lanes of T to an element.
template <class F, class T, std::size_t lanes_each = 1>
void apply(void* out, const void* left, const void* right, std::size_t count, Stores stores) {
  if constexpr (lanes_each == 1) {
    const Combined<F, T> in = {static_cast<const T*>(left), static_cast<const T*>(right)};
    run(in, OneOutput<T>{static_cast<T*>(out)}, count, stores);
  } else {
    apply<F, T>(out, left, right, count * lanes_each, stores);
  }
}

template <class F, class T, std::size_t lanes_each = 1>
void apply2(void* out_a, void* out_b, const void* left, const void* right, std::size_t count,
            Stores stores) {
  if constexpr (lanes_each == 1) {
    const Combined<F, T> in = {static_cast<const T*>(left), static_cast<const T*>(right)};
    run(in, TwoOutputs<T>{static_cast<T*>(out_a), static_cast<T*>(out_b)}, count, stores);
  } else {
    apply2<F, T>(out_a, out_b, left, right, count * lanes_each, stores);
  }
}

template <class F, class T, std::size_t lanes_each = 1>
void apply4(void* out, const void* const in[4], std::size_t count, Stores stores) {
  if constexpr (lanes_each == 1) {
    const auto operand = [in](int q) { return static_cast<const T*>(in[q]); };
    const Combined4<F, T> all = {{operand(0), operand(1)}, {operand(2), operand(3)}};
    run(all, OneOutput<T>{static_cast<T*>(out)}, count, stores);
  } else {
    apply4<F, T>(out, in, count * lanes_each, stores);
  }
}

template <class F, class T, std::size_t lanes_each = 1>
inline constexpr Kernel kernel = {apply<F, T, lanes_each>, apply2<F, T, lanes_each>,
                                  apply4<F, T, lanes_each>};

}  // namespace HWY_NAMESPACE
}  // namespace tutti::reduce
HWY_AFTER_NAMESPACE();
#endif

#endif
