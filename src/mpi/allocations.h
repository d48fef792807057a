// SPDX-License-Identifier: BSD-3-Clause
// Memory that is asked for to communicate with (MPI_Alloc_mem) is in the commons, whatever the
// MPI's own comes from; but if more is asked for than an alignment, only the MPI knows what that
// is.
#pragma once

#include <cstddef>
#include <mutex>
#include <unordered_set>

#include "mpi/entries.h"

namespace tutti::mpi {

template <class H>
class Life;
template <class H>
class Requests;

template <class H>
class Allocations {
 public:
  // There is one in a process.
  Allocations(const Native<H>& native, Life<H>& life, Requests<H>& requests)
      : native_(native), life_(life), requests_(requests) {
    self_ = this;
  }

  // Puts in MPI_Alloc_mem, MPI_Free_mem and MPI_Win_test.
  static void add_entries(Entries& entries);

 private:
  static int alloc_mem(Aint bytes, Word info, void* base);
  static int free_mem(void* base);
  static int win_test(Word window, int* flag);
  // Of what MPI_Alloc_mem is to give. False: `info` asks for more.
  [[nodiscard]] bool read_alignment(H info, std::size_t* alignment);

  static inline Allocations* self_ = nullptr;

  const Native<H>& native_;
  Life<H>& life_;
  Requests<H>& requests_;
  std::mutex giving_;
  std::unordered_set<const void*> given_;  // by MPI_Alloc_mem, and Tutti's
};

}  // namespace tutti::mpi
