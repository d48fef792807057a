// SPDX-License-Identifier: BSD-3-Clause
// The SIMD kernels of the integers. Two's complement makes all but min and max the same for signed
// and unsigned, so they share the unsigned ones; bitwise operations share one kernel on bytes.
#include "reduce/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reduce/integers.cc"
#include <hwy/foreach_target.h>  // reads this file again for each instruction set

#include "reduce/lanes-inl.h"
#include "reduce/loops-inl.h"
#include "reduce/targets.h"

#if TUTTI_SIMD_TARGETS & HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace tutti::reduce {
namespace HWY_NAMESPACE {
namespace {

template <class T>
constexpr Row row() {
  using U = hwy::MakeUnsigned<T>;
  Row r{};
  r[index_of(Op::sum)] = kernel<Sum, U>;
  r[index_of(Op::prod)] = kernel<Prod, U>;
  r[index_of(Op::min)] = kernel<Min, T>;
  r[index_of(Op::max)] = kernel<Max, T>;
  r[index_of(Op::land)] = kernel<LogicalAnd, U>;
  r[index_of(Op::lor)] = kernel<LogicalOr, U>;
  r[index_of(Op::lxor)] = kernel<LogicalXor, U>;
  r[index_of(Op::band)] = kernel<BitAnd, std::uint8_t, sizeof(T)>;
  r[index_of(Op::bor)] = kernel<BitOr, std::uint8_t, sizeof(T)>;
  r[index_of(Op::bxor)] = kernel<BitXor, std::uint8_t, sizeof(T)>;
  mark_exact(r, sizeof(T));
  return r;
}

}  // namespace

extern constinit const IntegerRows integer_rows = {
    row<std::int8_t>(),  row<std::int16_t>(),  row<std::int32_t>(),  row<std::int64_t>(),
    row<std::uint8_t>(), row<std::uint16_t>(), row<std::uint32_t>(), row<std::uint64_t>(),
};

}  // namespace HWY_NAMESPACE
}  // namespace tutti::reduce
HWY_AFTER_NAMESPACE();
#endif
