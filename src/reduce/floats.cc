// SPDX-License-Identifier: BSD-3-Clause
// The SIMD kernels of the floats and of complex numbers made of them.
#include "reduce/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reduce/floats.cc"
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
constexpr Row real_row() {
  Row r{};
  r[index_of(Op::sum)] = kernel<Sum, T>;
  r[index_of(Op::prod)] = kernel<Prod, T>;
  r[index_of(Op::min)] = kernel<Min, T>;
  r[index_of(Op::max)] = kernel<Max, T>;
  return r;
}

template <class T>
constexpr Row complex_row() {
  Row r{};
  r[index_of(Op::sum)] = kernel<Sum, T, 2>;
  r[index_of(Op::prod)] = kernel<ComplexProd, T, 2>;
  return r;
}

}  // namespace

extern constinit const FloatRows float_rows = {real_row<float>(), real_row<double>(),
                                               complex_row<float>(), complex_row<double>()};

}  // namespace HWY_NAMESPACE
}  // namespace tutti::reduce
HWY_AFTER_NAMESPACE();
#endif
