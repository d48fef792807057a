// SPDX-License-Identifier: BSD-3-Clause
// An operation of the user that does not commute, and that associates exactly: the composition of
// the maps x -> a x + b, modulo 2^16, each of which is in one unsigned.
#pragma once

#include <mpi.h>

inline void compose(void* in, void* inout, int* n, MPI_Datatype*) {
  for (int i = 0; i < *n; ++i) {
    const auto left = static_cast<const unsigned*>(in)[i];
    auto& right = static_cast<unsigned*>(inout)[i];
    const unsigned a = left >> 16, b = left & 0xffff, c = right >> 16, d = right & 0xffff;
    right = (a * c & 0xffff) << 16 | ((a * d + b) & 0xffff);
  }
}
