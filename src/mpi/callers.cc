// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/callers.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <mutex>

#include "base/base.h"
#include "mpi/objects.h"

namespace tutti::mpi {
namespace {

// Open MPI and its relatives; MPICH, Intel, Cray and others; MPICH before 3.2.
constexpr const char* parts[] = {"_mpifh", "_usempi", "fort", "f90"};

bool begins(const char* text, const char* with) {
  return std::strncmp(text, with, std::strlen(with)) == 0;
}

// Its addresses must not become another object's, or this verdict would be about that one. The
// handle is never closed.
bool keep_loaded(const char* name) {
  return *name == '\0' || ::dlopen(name, RTLD_NOLOAD | RTLD_LAZY | RTLD_NODELETE) != nullptr;
}

// The MPI's library defines PMPI_X, which tools do not, whatever they are called (mpiP's is
// libmpiP.so); so does this one. Open MPI has plugins, too, and MPICH may have MPI_X and PMPI_X in
// libraries of their own.
bool is_mpis(const Object& object) {
  return begins(object.file(), "mca_") || begins(object.file(), "libmpi.so") ||
         object.find("PMPI_Wait") != nullptr;
}

}  // namespace

bool is_fortran_library(const char* path) {
  const char* file = Object{0, 0, path}.file();
  if (!begins(file, "libmpi")) return false;
  return std::any_of(std::begin(parts), std::end(parts),
                     [&](const char* part) { return std::strstr(file, part) != nullptr; });
}

Caller Callers::meet(std::uintptr_t address) {
  const Object object = object_at(reinterpret_cast<const void*>(address));
  if (object.name == nullptr) return Caller::other;  // made at run time
  Caller caller = Caller::other;
  if (is_mpis(object)) caller = Caller::mpi;
  if (is_fortran_library(object.name))
    caller = options().fortran ? Caller::fortran : Caller::shut_out;
  if (keep_loaded(object.name)) remember({object.begin, object.end - object.begin, caller});
  return caller;
}

void Callers::remember(const Known& object) {
  static std::mutex alone;
  const std::lock_guard lock(alone);
  const int count = count_.load(std::memory_order_relaxed);
  if (count == static_cast<int>(known_.size())) return;
  for (int i = 0; i < count; ++i)
    if (known_[i].begin == object.begin) return;  // another thread was first
  known_[count] = object;
  count_.store(count + 1, std::memory_order_release);
}

}  // namespace tutti::mpi
