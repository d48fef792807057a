// SPDX-License-Identifier: BSD-3-Clause
// Internal to arch/: AArch64, as arch.h says it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tutti::arch {

// YIELD does nothing on most cores; ISB takes as long as PAUSE elsewhere.
inline void relax() { asm volatile("isb" ::: "memory"); }

// The virtual counter, which Linux lets programs read. It may be as slow as 25 MHz.
inline std::uint64_t ticks() {
  std::uint64_t value;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
}

[[gnu::always_inline]] inline void prefetch_for_writing(const void* at) {
  __builtin_prefetch(at, 1);
}

// STNP is a hint, which most cores take for a store as any other: they see for themselves when
// whole lines are written, and fetch none of them.
inline constexpr bool has_streaming_stores = false;
[[gnu::always_inline]] inline void stream(void* to, Vector value) {
  std::memcpy(to, &value, sizeof value);
}
inline void fence_streams() {}

// No line is shorter; of longer ones each is evicted more than once.
inline void evict(const void* from, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += 64)
    asm volatile("dc civac, %0" : : "r"(static_cast<const char*>(from) + at) : "memory");
  asm volatile("dsb ish" ::: "memory");
}

// Of FPCR: rounding, flush to zero, NaNs and half precision.
inline constexpr std::uint64_t fpcr_control = 0x07c80000;
inline std::uint64_t float_control() {
  std::uint64_t fpcr = 0;
  asm volatile("mrs %0, fpcr" : "=r"(fpcr));
  return known_control | (fpcr & fpcr_control);
}
inline void set_float_control(std::uint64_t control) {
  std::uint64_t fpcr = 0;
  asm volatile("mrs %0, fpcr" : "=r"(fpcr));
  fpcr = (fpcr & ~fpcr_control) | (control & fpcr_control);
  asm volatile("msr fpcr, %0" : : "r"(fpcr) : "memory");
}

// The kernel may not let programs ask.
inline std::uint32_t processor() { return 0; }

inline constexpr const char* first_libc = "GLIBC_2.17";

}  // namespace tutti::arch

// What is called and jumped to may use x16 and x17 as it likes, as may every call.
// clang-format off
#define TUTTI_ARCH_ASK_FIRST(name, ask, otherwise) \
  ".globl " name "\n"                              \
  ".type " name ", %function\n"                    \
  ".balign 4\n"                                    \
  name ":\n"                                       \
  "  .cfi_startproc\n"                             \
  "  hint #34\n" /* BTI C */                       \
  "  stp x29, x30, [sp, #-32]!\n"                  \
  "  .cfi_def_cfa_offset 32\n"                     \
  "  .cfi_offset x29, -32\n"                       \
  "  .cfi_offset x30, -24\n"                       \
  "  stp x0, x1, [sp, #16]\n"                      \
  "  mov x2, x30\n"                                \
  "  bl " ask "\n"                                 \
  "  mov x16, x0\n"                                \
  "  ldp x0, x1, [sp, #16]\n"                      \
  "  ldp x29, x30, [sp], #32\n"                    \
  "  .cfi_def_cfa_offset 0\n"                      \
  "  .cfi_restore x29\n"                           \
  "  .cfi_restore x30\n"                           \
  "  cbnz x16, 1f\n"                               \
  "  adrp x16, " otherwise "\n"                    \
  "  ldr x16, [x16, :lo12:" otherwise "]\n"        \
  "  br x16\n"                                     \
  "1:\n"                                           \
  "  mov x0, x16\n"                                \
  "  ret\n"                                        \
  "  .cfi_endproc\n"                               \
  ".size " name ", . - " name "\n"
// clang-format on
