// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/tools.h"

#include <dlfcn.h>

#include <atomic>
#include <cstring>

#include "arch/arch.h"
#include "mpi/callers.h"
#include "mpi/library.h"
#include "mpi/objects.h"

namespace tutti::mpi {
namespace {

void* unless_the_mpis(void* function) {
  return function != nullptr && callers.of(function) == Caller::other ? function : nullptr;
}

// PMPI_X of this library, which is the MPI for whoever wraps MPI_X.
void* ours(const char* name) {
  char symbol[64] = "P";
  const char* from = *name == 'P' ? name + 1 : name;
  if (std::strlen(from) + 2 > sizeof symbol) return nullptr;
  std::strcpy(symbol + 1, from);
  return object_at(&callers).find(symbol);
}

// The MPI's function of that name; it may be asked for before there is an MPI.
void* mpis(const char* name) {
  static std::atomic<void*> known{nullptr};
  void* handle = known.load(std::memory_order_relaxed);
  if (handle == nullptr) known.store(handle = find_library().handle, std::memory_order_relaxed);
  return handle != nullptr ? Library{handle}.find(name) : nullptr;
}

// What dlsym(RTLD_NEXT, name) is to be where it would be the MPI's and that is not the caller.
void* instead_of_next(const char* name, const void* caller) {
  void* found = std::strncmp(name + (*name == 'P'), "MPI", 3) == 0 ? ours(name) : nullptr;
  if (found == nullptr || callers.of(caller) != Caller::other) return nullptr;
  for (const Object& object : objects_after(object_at(caller)))
    if (void* next = object.find(name)) return next == mpis(name) ? found : nullptr;
  return nullptr;
}

}  // namespace

void* next_tools(const char* name) { return unless_the_mpis(::dlsym(RTLD_NEXT, name)); }

void* first_tools(const char* name) {
  void* first = ::dlsym(RTLD_DEFAULT, name);
  return object_at(&callers).holds(first) ? next_tools(name) : unless_the_mpis(first);
}

}  // namespace tutti::mpi

extern "C" {
using Dlsym = void*(void*, const char*);
[[gnu::visibility("hidden")]] Dlsym* tutti_libcs_dlsym = nullptr;

// Returns what dlsym is to return; nullptr: what libc's says.
[[gnu::visibility("hidden"), gnu::used]] void* tutti_before_dlsym(void* handle, const char* name,
                                                                  const void* caller) {
  if (__atomic_load_n(&tutti_libcs_dlsym, __ATOMIC_RELAXED) == nullptr) {
    void* next = ::dlvsym(RTLD_NEXT, "dlsym", tutti::arch::first_libc);
    __atomic_store_n(&tutti_libcs_dlsym, reinterpret_cast<Dlsym*>(next), __ATOMIC_RELAXED);
  }
  return handle == RTLD_NEXT ? tutti::mpi::instead_of_next(name, caller) : nullptr;
}
}

// A tool after this library that asks for the MPI's next function gets Tutti's. libc's dlsym knows
// by its return address who asks, so it is jumped to.
TUTTI_ASK_FIRST(dlsym, tutti_before_dlsym, tutti_libcs_dlsym);
