// SPDX-License-Identifier: BSD-3-Clause
// Internal to reduce/: which instruction sets Highway compiles the kernels for. To be included
// before any header of Highway.
//
// Only Highway's headers are used, none of its library: libtutti.so is preloaded beside any
// application and may not need libhwy.so. So the choice at run time is ours too (targets.cc), and
// the sets are trimmed of what the kernels have no use for, so that there is less to check for:
// AVX2 without FMA, BMI and F16C; AVX-512 as F, VL, DQ and BW (Highway's AVX3).
#pragma once

#define HWY_DISABLE_PCLMUL_AES
#define HWY_DISABLE_BMI2_FMA
#define HWY_DISABLE_F16C
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)

#include <hwy/detect_targets.h>

// Highway always compiles its baseline too, which on plain x86-64 is no SIMD at all: the scalar
// reference serves there.
#define TUTTI_SIMD_TARGETS (HWY_TARGETS & ~(HWY_SCALAR | HWY_EMU128))
