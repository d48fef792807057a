// SPDX-License-Identifier: BSD-3-Clause
// The MPI under test, found at run time: MPI_X as the program sees it (Tutti's when libtutti.so is
// preloaded) beside PMPI_X of the MPI itself.
#pragma once

#include <string>

#include "tutti_bench/families.h"

namespace tutti::bench {

// A handle of any family, passed as 8 bytes. Where the family's handles are 4-byte ints the callee
// reads the lower half of the register or stack slot, on x86-64 and little-endian aarch64 alike.
using Handle = void*;

struct Functions {
  int (*bcast)(void* buffer, int count, Handle type, int root, Handle comm);
  int (*reduce)(const void* send, void* recv, int count, Handle type, Handle op, int root,
                Handle comm);
  int (*allreduce)(const void* send, void* recv, int count, Handle type, Handle op, Handle comm);
  int (*barrier)(Handle comm);
};

struct Mpi {
  Functions base;             // PMPI_X of the library itself
  Functions tutti;            // MPI_X: the same where nothing is preloaded
  const char* (*last_way)();  // of libtutti.so, or one that says "mpi"
  std::string version;        // first line of MPI_Get_library_version
  Handle world;
  int rank;
  int ranks;

  // Both of the row's family.
  [[nodiscard]] Handle handle(const HandleRow& row) const;
  void finalize() const;
  [[noreturn]] void abort(int code) const;

  Family family;
  void* library;  // of dlopen
};

// Loads the library named by TUTTI_BENCH_LIBMPI and initialises MPI. False: `why` says what is
// missing.
[[nodiscard]] bool load_mpi(Mpi& mpi, std::string& why);

}  // namespace tutti::bench
