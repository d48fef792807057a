// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/objects.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstring>

namespace tutti::mpi {
namespace {

Object describe(const dl_phdr_info& info) {
  Object object{UINTPTR_MAX, 0, info.dlpi_name};
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const auto& segment = info.dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const std::uintptr_t begin = info.dlpi_addr + segment.p_vaddr;
    object.begin = std::min(object.begin, begin);
    object.end = std::max<std::uintptr_t>(object.end, begin + segment.p_memsz);
  }
  return object;
}

struct Search {
  const void* address;
  Object found;
  std::vector<Object>* after;  // nullptr: ends with the first
};

int look(dl_phdr_info* info, std::size_t, void* into) {
  auto& search = *static_cast<Search*>(into);
  const Object object = describe(*info);
  if (search.found.name != nullptr)
    search.after->push_back(object);
  else if (object.holds(search.address))
    search.found = object;
  return search.found.name != nullptr && search.after == nullptr;
}

}  // namespace

void* Object::find(const char* function) const {
  if (name == nullptr || *name == '\0') return nullptr;
  void* handle = ::dlopen(name, RTLD_NOLOAD | RTLD_LAZY);
  if (handle == nullptr) return nullptr;
  void* found = ::dlsym(handle, function);
  ::dlclose(handle);
  return holds(found) ? found : nullptr;
}

const char* Object::file() const {
  const char* slash = std::strrchr(name, '/');
  return slash != nullptr ? slash + 1 : name;
}

Object object_at(const void* address) {
  Search search{address, {}, nullptr};
  ::dl_iterate_phdr(look, &search);
  return search.found;
}

std::vector<Object> objects_after(const Object& object) {
  std::vector<Object> after;
  Search search{reinterpret_cast<const void*>(object.begin), {}, &after};
  ::dl_iterate_phdr(look, &search);
  return after;
}

}  // namespace tutti::mpi
