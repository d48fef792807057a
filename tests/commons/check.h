// SPDX-License-Identifier: BSD-3-Clause
// For programs that know nothing of Tutti and of test frameworks.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(condition)                                                   \
  do {                                                                     \
    if (!(condition)) {                                                    \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      std::exit(1);                                                        \
    }                                                                      \
  } while (false)

inline bool lies_in_commons(const void* address) {
  std::FILE* maps = std::fopen("/proc/self/maps", "r");
  char line[512];
  bool found = false;
  while (!found && std::fgets(line, sizeof line, maps) != nullptr) {
    std::uintptr_t from, to;
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    if (std::sscanf(line, "%lx-%lx", &from, &to) != 2) continue;
    found = from <= at && at < to && std::strstr(line, "tutti-commons") != nullptr;
  }
  std::fclose(maps);
  return found;
}
