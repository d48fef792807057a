// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/library.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace tutti::mpi {
namespace {

constexpr const char* landmark = "PMPI_Bcast";

// dl_iterate_phdr holds the loader's lock, under which nothing may be opened or allocated: first
// their number, then names.
struct Names {
  std::vector<const char*> names;
  std::size_t count = 0;
};

int collect(dl_phdr_info* info, std::size_t, void* into) {
  auto& found = *static_cast<Names*>(into);
  if (std::strstr(info->dlpi_name, "mpi") == nullptr) return 0;
  if (found.count < found.names.size()) found.names[found.count] = info->dlpi_name;
  ++found.count;
  return 0;
}

std::vector<const char*> names_of_objects() {
  Names found;
  ::dl_iterate_phdr(collect, &found);
  found.names.resize(found.count);
  found.count = 0;
  ::dl_iterate_phdr(collect, &found);
  found.names.resize(std::min(found.count, found.names.size()));  // others may come and go
  return std::move(found.names);
}

bool is_ours(const Dl_info& info) {
  static Dl_info ours;
  static const bool known = ::dladdr(&ours, &ours) != 0;
  return known && info.dli_fbase == ours.dli_fbase;
}

// The library that defines `function`; nullptr for Tutti, which exports PMPI_X too (exports.cc).
void* definer(void* function) {
  Dl_info info;
  if (function == nullptr || ::dladdr(function, &info) == 0 || is_ours(info)) return nullptr;
  return ::dlopen(info.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
}

void* library_handle() {
  if (void* found = ::dlsym(RTLD_NEXT, landmark)) {
    void* handle = definer(found);
    return handle != nullptr ? handle : RTLD_NEXT;
  }
  for (const char* const name : names_of_objects()) {
    void* object = ::dlopen(name, RTLD_NOLOAD | RTLD_LAZY);
    if (object == nullptr) continue;
    void* handle = definer(::dlsym(object, landmark));
    ::dlclose(object);
    if (handle != nullptr) return handle;
  }
  return nullptr;
}

}  // namespace

void* Library::find(const char* name) const { return ::dlsym(handle, name); }

Library find_library() {
  Library library{library_handle()};
  if (library.handle == nullptr) return library;
  int (*abi_version)(int*, int*) = nullptr;
  library.load(abi_version, "PMPI_Abi_get_version");
  int major = 0, minor = 0;
  if (abi_version != nullptr && abi_version(&major, &minor) == 0 && major > 0)
    library.family = Family::standard;
  else if (library.find("ompi_mpi_comm_world") != nullptr)
    library.family = Family::openmpi;
  else
    library.family = Family::mpich;
  return library;
}

}  // namespace tutti::mpi
