// SPDX-License-Identifier: BSD-3-Clause
// The collectives that come in two forms: with counts of int, and since MPI-4 (`_c`) with counts of
// MPI_Count and displacements of MPI_Aint; all of that once more, nonblocking; and what completes
// requests. One list (base/collectives.def) for what the MPI has, in its own handles, and for what
// Tutti exports, in words.
#pragma once

#include <cstdint>

namespace tutti::mpi {

using Aint = std::intptr_t;
using Count = std::int64_t;

// `N` counts, `D` displaces. `Request` is void* for the nonblocking collectives, whose last
// argument points to the request, and nothing for the blocking ones.
template <class H, class N, class D, class... Request>
struct Forms {
  using T = H;
  using O = H;
  using C = H;
#define TUTTI_BARRIER(name, Name)
#define TUTTI_COLLECTIVE(name, Name, root, computed, arguments, more, ...) \
  int (*name)(__VA_ARGS__, Request...);
#include "base/collectives.def"
#undef TUTTI_COLLECTIVE

  // Calls body(member, "Bcast") and so on.
  template <class Body>
  void for_each(Body body) {
#define TUTTI_COLLECTIVE(name, Name, root, computed, arguments, more, ...) body(name, #Name);
#include "base/collectives.def"
#undef TUTTI_COLLECTIVE
#undef TUTTI_BARRIER
  }
};

// What completes requests or looks at them. Those, and statuses, are the MPI's own, arrays of them
// too.
template <class H>
struct Completing {
  int (*wait)(void* request, void* status);
  int (*test)(void* request, int* flag, void* status);
  int (*waitall)(int count, void* requests, void* statuses);
  int (*testall)(int count, void* requests, int* flag, void* statuses);
  int (*waitany)(int count, void* requests, int* index, void* status);
  int (*testany)(int count, void* requests, int* index, int* flag, void* status);
  int (*waitsome)(int count, void* requests, int* done, int* indices, void* statuses);
  int (*testsome)(int count, void* requests, int* done, int* indices, void* statuses);
  int (*request_get_status)(H request, int* flag, void* status);
  // Of MPI 4.1.
  int (*request_get_status_all)(int count, const void* requests, int* flag, void* statuses);
  int (*request_get_status_any)(int count, const void* requests, int* index, int* flag,
                                void* status);
  int (*request_get_status_some)(int count, const void* requests, int* done, int* indices,
                                 void* statuses);

  // Calls body(member, "Wait") and so on.
  template <class Body>
  void for_each(Body body) {
    body(wait, "Wait");
    body(test, "Test");
    body(waitall, "Waitall");
    body(testall, "Testall");
    body(waitany, "Waitany");
    body(testany, "Testany");
    body(waitsome, "Waitsome");
    body(testsome, "Testsome");
    body(request_get_status, "Request_get_status");
    body(request_get_status_all, "Request_get_status_all");
    body(request_get_status_any, "Request_get_status_any");
    body(request_get_status_some, "Request_get_status_some");
  }
};

// What may wait for another rank, beside collectives.
template <class H>
struct Waiting {
  int (*send)(const void*, int count, H type, int to, int tag, H comm);
  int (*ssend)(const void*, int count, H type, int to, int tag, H comm);
  int (*rsend)(const void*, int count, H type, int to, int tag, H comm);
  int (*recv)(void*, int count, H type, int from, int tag, H comm, void* status);
  int (*sendrecv)(const void*, int count, H type, int to, int tag, void*, int count2, H type2,
                  int from, int tag2, H comm, void* status);
  int (*sendrecv_replace)(void*, int count, H type, int to, int tag, int from, int tag2, H comm,
                          void* status);
  int (*probe)(int from, int tag, H comm, void* status);
  int (*mprobe)(int from, int tag, H comm, void* message, void* status);
  int (*iprobe)(int from, int tag, H comm, int* flag, void* status);
  int (*improbe)(int from, int tag, H comm, int* flag, void* message, void* status);
};

}  // namespace tutti::mpi
