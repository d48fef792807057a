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
  Names names;
  ::dl_iterate_phdr(collect, &names);
  for (int i = 0; i < names.count; ++i) {
    void* object = ::dlopen(names.name[i], RTLD_NOLOAD | RTLD_LAZY);
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
