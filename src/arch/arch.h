// SPDX-License-Identifier: BSD-3-Clause
// arch: what an instruction set gives that C++ has no word for, as plain functions; one file each.
// Another processor is a file beside these that has the same. (The kernels of reduce/ have Highway
// for that, and their choice among an instruction set's extensions in reduce/targets.cc.)
//
//   relax()                       between two polls: lets the core's other thread go first
//   ticks()                       the processor's own clock: cheap, steady, of no particular unit;
//                                 only to compare durations
//   prefetch_for_writing(at)      asks for the line that is about to be written; past the end of
//                                 what is mapped nothing happens
//   has_streaming_stores          whether the next two are more than a store, and nothing
//   stream(to, vector)            16 bytes, aligned to as many, stored past the caches
//   fence_streams()               what was stored so comes before what is stored from now on
//   evict(from, bytes)            out of all caches before anything that follows; for tests, which
//                                 want the next stores there to be slow
//   float_control()               how this thread rounds, and what becomes of denormals; never 0
//   set_float_control(control)    so that it does as another one; what traps stays as it is
//   processor()                   a number for vendor and model; 0: not known
//   first_libc                    the version of the symbols that glibc had on it from the start
//   TUTTI_ASK_FIRST(...)          see there
#pragma once

#include <cstdint>

namespace tutti::arch {

using Vector __attribute__((vector_size(16))) = unsigned char;
// Part of every float_control(), which is 0 for none.
inline constexpr std::uint64_t known_control = std::uint64_t{1} << 63;

}  // namespace tutti::arch

#if defined(__x86_64__)
#include "arch/x86_64.h"
#elif defined(__aarch64__)
#include "arch/aarch64.h"
#else
#error "Tutti knows x86-64 and aarch64: this processor wants a file in src/arch/"
#endif

// Defines the function `name` of two pointers as `ask`(first, second, return address), and where
// that is nullptr as what the variable `otherwise` points to. That is jumped to, so that it sees
// the return address of whoever called `name`. All three are names of C functions and variables of
// this object.
#define TUTTI_ASK_FIRST(name, ask, otherwise) \
  __asm__(".text\n" TUTTI_ARCH_ASK_FIRST(#name, #ask, #otherwise))
