// SPDX-License-Identifier: BSD-3-Clause
// What the exported MPI_X functions jump to. Handles travel as words: a register or stack slot
// holds any family's handle, and the family that was found takes as much of it as it uses.
#pragma once

#include <cstdint>

#include "mpi/native.h"

namespace tutti::mpi {

using Word = std::uintptr_t;

struct Entries : Forms<Word, int, int> {
  int (*init)(int*, char***);
  int (*init_thread)(int*, char***, int, int*);
  int (*finalize)();
  int (*alloc_mem)(Aint, Word info, void*);
  int (*free_mem)(void*);
  int (*barrier)(Word comm);
  int (*win_test)(Word window, int* flag);
  Forms<Word, Count, Aint> large;
};

// Those of the MPI in this process, found at the first call. Ends the process with one sentence
// when there is none.
[[nodiscard]] const Entries& entries();

}  // namespace tutti::mpi
