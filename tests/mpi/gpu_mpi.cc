// SPDX-License-Identifier: BSD-3-Clause
// Plays an MPI that knows devices: preloaded behind Tutti, it gives the real one addresses that the
// host can reach.
#include <dlfcn.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>

namespace {

template <class Function>
Function* next(const char* name) {
  void* const found = dlsym(RTLD_NEXT, name);
  if (found != nullptr) return reinterpret_cast<Function*>(found);
  std::printf("the MPI has no %s\n", name);
  std::abort();
}

// What the MPI knows of the runtime, which the program may load at any time.
void* at(const void* address) {
  auto* const own = const_cast<void*>(address);
  const auto shadow = reinterpret_cast<void* (*)(void*)>(dlsym(RTLD_DEFAULT, "gpu_shadow"));
  return own == MPI_IN_PLACE || shadow == nullptr ? own : shadow(own);
}

}  // namespace

#define PLAY(name, parameters, ...)                                   \
  extern "C" int PMPI_##name parameters {                             \
    static const auto function = next<int parameters>("PMPI_" #name); \
    return function(__VA_ARGS__);                                     \
  }
#define IN const void *a, int n, MPI_Datatype t
#define IN_V const void *a, const int *n, const int *p, MPI_Datatype t
#define OUT void *b, int m, MPI_Datatype u
#define OUT_V void *b, const int *m, const int *q, MPI_Datatype u

PLAY(Bcast, (void* b, int n, MPI_Datatype t, int root, MPI_Comm c), at(b), n, t, root, c)
PLAY(Reduce, (const void* a, void* b, int n, MPI_Datatype t, MPI_Op o, int root, MPI_Comm c), at(a),
     at(b), n, t, o, root, c)
PLAY(Allreduce, (const void* a, void* b, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), at(a), at(b),
     n, t, o, c)
PLAY(Scan, (const void* a, void* b, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), at(a), at(b), n,
     t, o, c)
PLAY(Exscan, (const void* a, void* b, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), at(a), at(b), n,
     t, o, c)
PLAY(Reduce_scatter, (const void* a, void* b, const int* n, MPI_Datatype t, MPI_Op o, MPI_Comm c),
     at(a), at(b), n, t, o, c)
PLAY(Reduce_scatter_block, (const void* a, void* b, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c),
     at(a), at(b), n, t, o, c)
PLAY(Gather, (IN, OUT, int root, MPI_Comm c), at(a), n, t, at(b), m, u, root, c)
PLAY(Gatherv, (IN, OUT_V, int root, MPI_Comm c), at(a), n, t, at(b), m, q, u, root, c)
PLAY(Scatter, (IN, OUT, int root, MPI_Comm c), at(a), n, t, at(b), m, u, root, c)
PLAY(Scatterv, (IN_V, OUT, int root, MPI_Comm c), at(a), n, p, t, at(b), m, u, root, c)
PLAY(Allgather, (IN, OUT, MPI_Comm c), at(a), n, t, at(b), m, u, c)
PLAY(Allgatherv, (IN, OUT_V, MPI_Comm c), at(a), n, t, at(b), m, q, u, c)
PLAY(Alltoall, (IN, OUT, MPI_Comm c), at(a), n, t, at(b), m, u, c)
PLAY(Alltoallv, (IN_V, OUT_V, MPI_Comm c), at(a), n, p, t, at(b), m, q, u, c)
PLAY(Alltoallw,
     (const void* a, const int* n, const int* p, const MPI_Datatype* t, void* b, const int* m,
      const int* q, const MPI_Datatype* u, MPI_Comm c),
     at(a), n, p, t, at(b), m, q, u, c)
PLAY(Pack, (IN, void* b, int bytes, int* position, MPI_Comm c), at(a), n, t, b, bytes, position, c)
PLAY(Unpack, (const void* a, int bytes, int* position, void* b, int n, MPI_Datatype t, MPI_Comm c),
     a, bytes, position, at(b), n, t, c)
