// SPDX-License-Identifier: BSD-3-Clause
// The MPI itself, past Tutti and every tool: what is right is what it does.
#pragma once

#include <dlfcn.h>
#include <mpi.h>

template <class Signature>
Signature* mpis_own(const char* name) {
  Dl_info info{};  // of a function that nobody else defines
  dladdr(dlsym(RTLD_DEFAULT, "PMPI_Get_processor_name"), &info);
  return reinterpret_cast<Signature*>(dlsym(dlopen(info.dli_fname, RTLD_NOLOAD | RTLD_LAZY), name));
}
// BARE(Bcast) is the MPI's own MPI_Bcast.
#define BARE(name)                                                          \
  ([] {                                                                     \
    static const auto mpis = mpis_own<decltype(MPI_##name)>("PMPI_" #name); \
    return mpis;                                                            \
  }())

// MPI begun and ended unseen, as by a program that has linked it in statically.
inline void start_unseen(int* argc, char*** argv) {
  mpis_own<int(int*, char***)>("PMPI_Init")(argc, argv);
}
inline void end_unseen() { mpis_own<int()>("PMPI_Finalize")(); }
