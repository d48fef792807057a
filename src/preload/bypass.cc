// SPDX-License-Identifier: BSD-3-Clause
#include "preload/bypass.h"

#include <dlfcn.h>

#include <cstddef>
#include <cstring>
#include <string_view>

#include "os/references.h"

namespace tutti::preload {
namespace {

// Or how they begin, with a star behind.
constexpr std::string_view takers[] = {
    // jemalloc
    "dallocx",
    "sdallocx",
    "rallocx",
    "xallocx",
    "sallocx",
    // tcmalloc
    "tc_*",
    "malloc_size",
    "MallocExtension_*",
    "_ZN15MallocExtension*",
    // mimalloc
    "mi_*",
    "reallocf",
    "reallocarr",
    "vfree",
    // libc, and C++ of all of them
    "__libc_free",
    "__libc_realloc",
    "__libc_cfree",
    "_ZdlPv*",
    "_ZdaPv*",
};

// Most of the thousands of names that are asked differ in their first letter.
bool is_taker(const char* name) {
  for (const std::string_view taker : takers) {
    if (taker[0] != name[0]) continue;
    const std::size_t length = taker.size() - 1;
    if (taker[length] == '*' ? std::strncmp(name, taker.data(), length) == 0 : taker == name)
      return true;
  }
  return false;
}

// A few stand for all: a program that calls one of these functions calls others, too.
struct Found {
  static constexpr std::size_t most = 64;
  const char* names[most];
  std::size_t count = 0;
  os::ObjectRange behind;

  void note(const os::ObjectRange& object, const char* name) {
    if (object.first == behind.first || !is_taker(name)) return;
    for (std::size_t i = 0; i < count; ++i)
      if (std::strcmp(names[i], name) == 0) return;
    if (count < most) names[count++] = name;
  }
};

}  // namespace

const char* find_bypass(void (*free)(void*)) {
  Found found;
  found.behind = os::object_with(reinterpret_cast<const void*>(free));
  os::each_reference([](void* into, const os::ObjectRange& object,
                        const char* name) { static_cast<Found*>(into)->note(object, name); },
                     &found);
  for (std::size_t i = 0; i < found.count; ++i)
    if (found.behind.holds(::dlsym(RTLD_DEFAULT, found.names[i]))) return found.names[i];
  return nullptr;
}

}  // namespace tutti::preload
