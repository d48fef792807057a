// SPDX-License-Identifier: BSD-3-Clause
// Internal to arch/: x86-64, as arch.h says it.
#pragma once

#include <cpuid.h>
#include <emmintrin.h>

#include <cstddef>
#include <cstdint>

namespace tutti::arch {

inline void relax() { __builtin_ia32_pause(); }

inline std::uint64_t ticks() { return __builtin_ia32_rdtsc(); }

// PREFETCHW, which compilers emit only when told that the processor has it, does nothing on x86-64
// that has it not.
[[gnu::always_inline]] inline void prefetch_for_writing(const void* at) {
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(at)));
}

inline constexpr bool has_streaming_stores = true;
[[gnu::always_inline]] inline void stream(void* to, Vector value) {
  _mm_stream_si128(static_cast<__m128i*>(to), reinterpret_cast<__m128i>(value));
}
// Non-temporal stores are not ordered by a later release store; after this they are.
inline void fence_streams() { _mm_sfence(); }

inline void evict(const void* from, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += 64) _mm_clflush(static_cast<const char*>(from) + at);
  _mm_mfence();
}

// Of MXCSR: rounding, flush to zero, denormals are zeros. The x87 rounds alike: fesetround() sets
// both. To read it as well would cost as much again.
inline constexpr std::uint32_t mxcsr_control = 0xe040;
inline constexpr std::uint32_t x87_rounding = 0x0c00, mxcsr_rounding = x87_rounding << 3;
inline std::uint64_t float_control() {
  std::uint32_t mxcsr = 0;
  asm volatile("stmxcsr %0" : "=m"(mxcsr));
  return known_control | (mxcsr & mxcsr_control);
}
inline void set_float_control(std::uint64_t control) {
  const auto wanted = static_cast<std::uint32_t>(control) & mxcsr_control;
  std::uint32_t mxcsr = 0;
  std::uint16_t x87 = 0;
  asm volatile("stmxcsr %0" : "=m"(mxcsr));
  asm volatile("fnstcw %0" : "=m"(x87));
  mxcsr = (mxcsr & ~mxcsr_control) | wanted;
  x87 = static_cast<std::uint16_t>((x87 & ~x87_rounding) | (wanted & mxcsr_rounding) >> 3);
  asm volatile("ldmxcsr %0" : : "m"(mxcsr) : "memory");
  asm volatile("fldcw %0" : : "m"(x87) : "memory");
}

inline std::uint32_t processor() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(0, &a, &b, &c, &d) == 0) return 0;
  const unsigned vendor = b;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 ? vendor * 31 + a : 0;
}

inline constexpr const char* first_libc = "GLIBC_2.2.5";

}  // namespace tutti::arch

// clang-format off
#define TUTTI_ARCH_ASK_FIRST(name, ask, otherwise) \
  ".globl " name "\n"                              \
  ".type " name ", @function\n"                    \
  name ":\n"                                       \
  "  .cfi_startproc\n"                             \
  "  push %rdi\n"                                  \
  "  .cfi_adjust_cfa_offset 8\n"                   \
  "  push %rsi\n"                                  \
  "  .cfi_adjust_cfa_offset 8\n"                   \
  "  sub $8, %rsp\n"                               \
  "  .cfi_adjust_cfa_offset 8\n"                   \
  "  mov 24(%rsp), %rdx\n"                         \
  "  call " ask "\n"                               \
  "  add $8, %rsp\n"                               \
  "  .cfi_adjust_cfa_offset -8\n"                  \
  "  pop %rsi\n"                                   \
  "  .cfi_adjust_cfa_offset -8\n"                  \
  "  pop %rdi\n"                                   \
  "  .cfi_adjust_cfa_offset -8\n"                  \
  "  test %rax, %rax\n"                            \
  "  jne 1f\n"                                     \
  "  jmp *" otherwise "(%rip)\n"                   \
  "1:\n"                                           \
  "  ret\n"                                        \
  "  .cfi_endproc\n"                               \
  ".size " name ", . - " name "\n"
// clang-format on
