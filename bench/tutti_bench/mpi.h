// SPDX-License-Identifier: BSD-3-Clause
// The MPI under test, found at run time: MPI_X as the program sees it (Tutti's when libtutti.so is
// preloaded) beside PMPI_X in the MPI's own library.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tutti_bench/names.h"

namespace tutti::bench {

// A handle of any family, passed as 8 bytes. Where the family's handles are 4-byte ints the callee
// reads the lower half of the register or stack slot, on x86-64 and little-endian aarch64 alike.
// Arrays of handles are another matter: Mpi::array.
using Handle = void*;
using Ints = const int*;

// The collectives' signatures, of MPI_X and with a request behind the arguments of MPI_IX.
template <class... More>
struct Forms {
  int (*barrier)(Handle comm, More... more);
  int (*bcast)(void* buffer, int count, Handle type, int root, Handle comm, More... more);
  int (*reduce)(const void* send, void* recv, int count, Handle type, Handle op, int root,
                Handle comm, More... more);
  int (*allreduce)(const void* send, void* recv, int count, Handle type, Handle op, Handle comm,
                   More... more);
  int (*gather)(const void* send, int send_count, Handle send_type, void* recv, int recv_count,
                Handle recv_type, int root, Handle comm, More... more);
  int (*gatherv)(const void* send, int send_count, Handle send_type, void* recv, Ints recv_counts,
                 Ints recv_displs, Handle recv_type, int root, Handle comm, More... more);
  int (*scatter)(const void* send, int send_count, Handle send_type, void* recv, int recv_count,
                 Handle recv_type, int root, Handle comm, More... more);
  int (*scatterv)(const void* send, Ints send_counts, Ints send_displs, Handle send_type,
                  void* recv, int recv_count, Handle recv_type, int root, Handle comm,
                  More... more);
  int (*allgather)(const void* send, int send_count, Handle send_type, void* recv, int recv_count,
                   Handle recv_type, Handle comm, More... more);
  int (*allgatherv)(const void* send, int send_count, Handle send_type, void* recv,
                    Ints recv_counts, Ints recv_displs, Handle recv_type, Handle comm,
                    More... more);
  int (*alltoall)(const void* send, int send_count, Handle send_type, void* recv, int recv_count,
                  Handle recv_type, Handle comm, More... more);
  int (*alltoallv)(const void* send, Ints send_counts, Ints send_displs, Handle send_type,
                   void* recv, Ints recv_counts, Ints recv_displs, Handle recv_type, Handle comm,
                   More... more);
  int (*alltoallw)(const void* send, Ints send_counts, Ints send_displs, const void* send_types,
                   void* recv, Ints recv_counts, Ints recv_displs, const void* recv_types,
                   Handle comm, More... more);
  int (*reduce_scatter)(const void* send, void* recv, Ints counts, Handle type, Handle op,
                        Handle comm, More... more);
  int (*reduce_scatter_block)(const void* send, void* recv, int count, Handle type, Handle op,
                              Handle comm, More... more);
  int (*scan)(const void* send, void* recv, int count, Handle type, Handle op, Handle comm,
              More... more);
  int (*exscan)(const void* send, void* recv, int count, Handle type, Handle op, Handle comm,
                More... more);
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
