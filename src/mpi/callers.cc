// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/callers.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <mutex>

#include "base/base.h"

namespace tutti::mpi {
namespace {

// Open MPI and its relatives; MPICH, Intel, Cray and others; MPICH before 3.2.
constexpr const char* parts[] = {"_mpifh", "_usempi", "fort", "f90"};

struct Search {
  std::uintptr_t address;
  std::uintptr_t begin = 0, end = 0;
  const char* name = nullptr;  // "": the program itself
};

int look(dl_phdr_info* info, std::size_t, void* into) {
  auto& search = *static_cast<Search*>(into);
  std::uintptr_t begin = UINTPTR_MAX, end = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    begin = std::min<std::uintptr_t>(begin, info->dlpi_addr + segment.p_vaddr);
    end = std::max<std::uintptr_t>(end, info->dlpi_addr + segment.p_vaddr + segment.p_memsz);
  }
  if (search.address < begin || search.address >= end) return 0;
  search.begin = begin;
  search.end = end;
  search.name = info->dlpi_name;
  return 1;
}

// Its addresses must not become another object's, or this verdict would be about that one. The
// handle is never closed.
bool keep_loaded(const char* name) {
  return *name == '\0' || ::dlopen(name, RTLD_NOLOAD | RTLD_LAZY | RTLD_NODELETE) != nullptr;
}

const char* file_of(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

bool begins(const char* text, const char* with) {
  return std::strncmp(text, with, std::strlen(with)) == 0;
}

// The MPI's library defines PMPI_X, which tools do not, whatever they are called (mpiP's is
// libmpiP.so); Open MPI has plugins, too.
bool is_mpis(const Search& object) {
  if (*object.name == '\0') return false;
  if (begins(file_of(object.name), "mca_")) return true;
  void* handle = ::dlopen(object.name, RTLD_NOLOAD | RTLD_LAZY);
  if (handle == nullptr) return false;
  const auto found = reinterpret_cast<std::uintptr_t>(::dlsym(handle, "PMPI_Wait"));
  ::dlclose(handle);
  return object.begin <= found && found < object.end;  // and not in what it depends on
}

}  // namespace

void* find_tools(const char* name) {
  void* next = ::dlsym(RTLD_NEXT, name);
  Search search{reinterpret_cast<std::uintptr_t>(next)};
  if (next == nullptr || ::dl_iterate_phdr(look, &search) == 0) return nullptr;
  // MPICH may have MPI_X and PMPI_X in libraries of their own.
  return is_mpis(search) || begins(file_of(search.name), "libmpi.so") ? nullptr : next;
}

bool is_fortran_library(const char* path) {
  const char* file = file_of(path);
  if (!begins(file, "libmpi")) return false;
  return std::any_of(std::begin(parts), std::end(parts),
                     [&](const char* part) { return std::strstr(file, part) != nullptr; });
}

Caller Callers::meet(std::uintptr_t address) {
  Search search{address};
  if (::dl_iterate_phdr(look, &search) == 0) return Caller::other;  // made at run time
  Caller caller = Caller::other;
  if (is_mpis(search)) caller = Caller::mpi;
  if (is_fortran_library(search.name))
    caller = options().fortran ? Caller::fortran : Caller::shut_out;
  if (keep_loaded(search.name)) remember({search.begin, search.end - search.begin, caller});
  return caller;
}

void Callers::remember(const Object& object) {
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
