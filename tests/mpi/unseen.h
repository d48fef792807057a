// SPDX-License-Identifier: BSD-3-Clause
// MPI begun and ended past everyone, as by Fortran bindings that are linked in statically.
#pragma once

#include <dlfcn.h>
#include <mpi.h>

template <class Signature>
Signature* mpis_own(const char* name) {
  Dl_info info{};  // of a function that nobody else defines
  dladdr(dlsym(RTLD_DEFAULT, "PMPI_Get_processor_name"), &info);
  return reinterpret_cast<Signature*>(dlsym(dlopen(info.dli_fname, RTLD_NOLOAD | RTLD_LAZY), name));
}
inline void start_unseen(int* argc, char*** argv) {
  mpis_own<int(int*, char***)>("PMPI_Init")(argc, argv);
}
inline void end_unseen() { mpis_own<int()>("PMPI_Finalize")(); }
