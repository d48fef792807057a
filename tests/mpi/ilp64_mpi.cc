// SPDX-License-Identifier: BSD-3-Clause
// Plays an MPI that was built for a Fortran compiler whose INTEGER, LOGICAL and REAL have 8 bytes
// and whose DOUBLE PRECISION has 16, or (ILP64=told) one that the program may tell so, as that of
// the standard ABI. Preloaded behind Tutti; has what the test calls, and what Tutti asks.
#include <dlfcn.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

bool g_told = false;

bool is_long() {
  static const char* const mode = std::getenv("ILP64");
  return mode == nullptr || std::strcmp(mode, "told") != 0 || g_told;
}

// The type that is like it.
MPI_Datatype like(MPI_Datatype type) {
  if (!is_long()) return type;
  if (type == MPI_INTEGER || type == MPI_LOGICAL) return MPI_INT64_T;
  if (type == MPI_REAL) return MPI_DOUBLE;
  if (type == MPI_DOUBLE_PRECISION) return MPI_LONG_DOUBLE;
  if (type == MPI_COMPLEX || type == MPI_2INTEGER) return MPI_C_DOUBLE_COMPLEX;
  if (type == MPI_2REAL) return MPI_2DOUBLE_PRECISION;
  return type;
}

template <class Function>
Function* next(const char* name) {
  void* const found = dlsym(RTLD_NEXT, name);
  if (found != nullptr) return reinterpret_cast<Function*>(found);
  std::printf("the MPI has no %s\n", name);
  std::abort();
}

}  // namespace

#define PLAY(name, parameters, ...)                           \
  extern "C" int name parameters {                            \
    static const auto function = next<int parameters>(#name); \
    return function(__VA_ARGS__);                             \
  }

PLAY(PMPI_Type_size, (MPI_Datatype type, int* bytes), like(type), bytes)
PLAY(PMPI_Type_get_extent, (MPI_Datatype type, MPI_Aint* lower, MPI_Aint* extent), like(type),
     lower, extent)
PLAY(PMPI_Type_size_x, (MPI_Datatype type, MPI_Count* bytes), like(type), bytes)
PLAY(PMPI_Bcast, (void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm), buffer,
     count, like(type), root, comm)
PLAY(PMPI_Allreduce,
     (const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm), send,
     recv, count, like(type), op, comm)
PLAY(MPI_Type_contiguous, (int count, MPI_Datatype type, MPI_Datatype* made), count, like(type),
     made)

// The first call counts. What is told is not looked at.
extern "C" int PMPI_Abi_set_fortran_info(MPI_Info) {
  g_told = true;
  return MPI_SUCCESS;
}
extern "C" int MPI_Abi_set_fortran_info(MPI_Info info) { return PMPI_Abi_set_fortran_info(info); }
extern "C" int PMPI_Abi_get_fortran_info(MPI_Info* info) {
  *info = MPI_INFO_NULL;
  return is_long() ? PMPI_Info_create(info) : MPI_SUCCESS;
}
