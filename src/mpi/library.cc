// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/library.h"

#include <dlfcn.h>
#include <link.h>

#include <cstring>

namespace tutti::mpi {
namespace {

constexpr const char* landmark = "PMPI_Bcast";

// dl_iterate_phdr holds the loader's lock, under which nothing may be opened: names first.
struct Names {
  static constexpr int most = 512;
  const char* name[most];
  int count = 0;
};

int collect(dl_phdr_info* info, std::size_t, void* into) {
  auto& names = *static_cast<Names*>(into);
  if (names.count < Names::most && std::strstr(info->dlpi_name, "mpi") != nullptr)
    names.name[names.count++] = info->dlpi_name;
  return 0;
}

void* library_handle() {
  if (void* found = ::dlsym(RTLD_NEXT, landmark)) {
    Dl_info info;
    if (::dladdr(found, &info) != 0)
      if (void* handle = ::dlopen(info.dli_fname, RTLD_NOLOAD | RTLD_LAZY)) return handle;
    return RTLD_NEXT;
  }
  Names names;
  ::dl_iterate_phdr(collect, &names);
  for (int i = 0; i < names.count; ++i) {
    void* handle = ::dlopen(names.name[i], RTLD_NOLOAD | RTLD_LAZY);
    if (handle == nullptr) continue;
    if (::dlsym(handle, landmark) != nullptr) return handle;
    ::dlclose(handle);
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
