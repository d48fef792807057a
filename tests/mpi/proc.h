// SPDX-License-Identifier: BSD-3-Clause
// What /proc says of this process.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>

// A field of such a file as "VmRSS:   1024 kB", in KiB; 0: there is none.
inline long proc_kib(const char* path, const char* name) {
  char line[256];
  long value = 0;
  std::FILE* const file = std::fopen(path, "r");
  while (file != nullptr && std::fgets(line, sizeof line, file) != nullptr)
    if (std::strncmp(line, name, std::strlen(name)) == 0) {
      value = std::atol(line + std::strlen(name));
      break;
    }
  if (file != nullptr) std::fclose(file);
  return value;
}
