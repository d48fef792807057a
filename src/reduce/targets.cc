// SPDX-License-Identifier: BSD-3-Clause
#include "reduce/targets.h"

#include "reduce/isa.h"

namespace tutti::reduce {

// Each is defined by one of integers.cc, floats.cc and copies.cc.
#define TUTTI_DECLARE(target)            \
  namespace target {                     \
  extern const IntegerRows integer_rows; \
  extern const FloatRows float_rows;     \
  extern const Copies copies;            \
  }
#define TUTTI_TARGET(target, name, is_supported) \
  { name, is_supported, &target::integer_rows, &target::float_rows, &target::copies }

#if TUTTI_SIMD_TARGETS & HWY_AVX3
TUTTI_DECLARE(N_AVX3)
#endif
#if TUTTI_SIMD_TARGETS & HWY_AVX2
TUTTI_DECLARE(N_AVX2)
#endif
#if TUTTI_SIMD_TARGETS & HWY_SSE4
TUTTI_DECLARE(N_SSE4)
#endif
#if TUTTI_SIMD_TARGETS & HWY_NEON
TUTTI_DECLARE(N_NEON)
#endif

namespace {

#if defined(__x86_64__)
// Exactly the sets in Highway's HWY_TARGET_STR_*, as trimmed by isa.h. The builtin also asks the
// operating system (XCR0) whether it saves the registers.
bool supports_sse4() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("sse4.1") &&
         __builtin_cpu_supports("sse4.2");
}
[[maybe_unused]] bool supports_avx2() {
  return supports_sse4() && __builtin_cpu_supports("avx") && __builtin_cpu_supports("avx2");
}
[[maybe_unused]] bool supports_avx3() {
  return supports_avx2() && __builtin_cpu_supports("avx512f") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw");
}
#endif

bool always() { return true; }

constexpr Target all[] = {
#if TUTTI_SIMD_TARGETS & HWY_AVX3
    TUTTI_TARGET(N_AVX3, "AVX3", supports_avx3),
#endif
#if TUTTI_SIMD_TARGETS & HWY_AVX2
    TUTTI_TARGET(N_AVX2, "AVX2", supports_avx2),
#endif
#if TUTTI_SIMD_TARGETS & HWY_SSE4
    TUTTI_TARGET(N_SSE4, "SSE4", supports_sse4),
#endif
#if TUTTI_SIMD_TARGETS & HWY_NEON
    // Part of every AArch64 that runs Linux's generic ABI.
    TUTTI_TARGET(N_NEON, "NEON", always),
#endif
    {"scalar", always, nullptr, nullptr, &scalar::copies},
};

const Kernel* simd_kernel(const Target& target, Op op, Type type) {
  if (target.integers == nullptr) return nullptr;
  const int o = index_of(op);
  if (is_integer(type)) return &(*target.integers)[index_of(type)][o];
  switch (type) {
    // A byte that is not 0 is true, whatever else wrote it; results are 0 and 1 as for u8.
    case Type::boolean:
      return &(*target.integers)[index_of(Type::u8)][o];
    case Type::f32:
      return &target.floats->f32[o];
    case Type::f64:
      return &target.floats->f64[o];
    case Type::c64:
      return &target.floats->c64[o];
    case Type::c128:
      return &target.floats->c128[o];
    default:
      return nullptr;
  }
}

}  // namespace

const Kernel* Target::find(Op op, Type type) const {
  if (!is_defined(op, type)) return nullptr;
  const Kernel* simd = simd_kernel(*this, op, type);
  return simd != nullptr && simd->apply != nullptr ? simd : &scalar::kernel_at(op, type);
}

std::span<const Target> targets() { return all; }

}  // namespace tutti::reduce
