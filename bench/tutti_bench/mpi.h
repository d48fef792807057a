// SPDX-License-Identifier: BSD-3-Clause
// The MPI under test, found at run time: MPI_X as the program sees it (Tutti's when libtutti.so is
// preloaded) beside PMPI_X in the MPI's own library.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mpi/forms.h"
#include "tutti_bench/names.h"

namespace tutti::bench {

// A handle of any family, passed as 8 bytes. Where the family's handles are 4-byte ints the callee
// reads the lower half of the register or stack slot, on x86-64 and little-endian aarch64 alike.
// Arrays of handles are another matter: Mpi::array.
using Handle = void*;

// The collectives: MPI_X, and with a request behind the arguments MPI_IX.
template <class... More>
struct Forms : mpi::Forms<Handle, int, int, More...> {
  int (*barrier)(Handle comm, More... more);
};
using Functions = Forms<>;

// A request is an int or a pointer: any family's fits a Handle. The status is thrown away.
using Request = Handle;
struct Nonblocking : Forms<Request*> {
  int (*wait)(Request* request, void* status);
};

// Derived datatypes, made as a program makes them: by MPI_X, so that Tutti sees them too.
struct TypeFunctions {
  int (*vector)(int count, int block, int stride, Handle of, Handle* made);
  int (*resized)(Handle of, std::intptr_t lower_bound, std::intptr_t extent, Handle* made);
  int (*commit)(Handle* type);
  int (*free)(Handle* type);
};

struct Mpi {
  Functions base;             // PMPI_X of the library itself
  Functions tutti;            // MPI_X: the same where nothing is preloaded
  Nonblocking base_started;   // PMPI_IX and PMPI_Wait: a request goes back to whoever made it
  Nonblocking tutti_started;  // MPI_IX and MPI_Wait
  TypeFunctions types;        // MPI_Type_X
  const char* (*last_way)();  // of libtutti.so, or one that says "mpi"; empty: by the MPI
  void (*forget_way)();
  std::string version;  // first line of MPI_Get_library_version
  Handle world;
  int rank;
  int ranks;

  // A row's handle in this family.
  template <class Row>
  [[nodiscard]] Handle handle(const Row& row) const {
    return reinterpret_cast<Handle>(mpi::handle_of(row, family, mpi::Symbols{library}));
  }
  // Handles as an argument that is an array of them: as wide as the family's are.
  [[nodiscard]] std::vector<std::byte> array(std::span<const Handle> handles) const;

  void finalize() const;
  [[noreturn]] void abort(int code) const;

  mpi::Family family;
  void* library;  // of dlopen
};

// Loads the library named by TUTTI_BENCH_LIBMPI and initialises MPI. False: `why` says what is
// missing.
[[nodiscard]] bool load_mpi(Mpi& mpi, std::string& why);

}  // namespace tutti::bench
