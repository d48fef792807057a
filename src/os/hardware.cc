// SPDX-License-Identifier: BSD-3-Clause
#include "os/hardware.h"

#include <dirent.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace tutti::os {

bool has_file_like(const char* beginning) {
  const std::string_view path = beginning;
  const std::size_t name = path.rfind('/') + 1;
  const std::string_view part = path.substr(name);
  DIR* const directory = ::opendir(std::string(path.substr(0, name)).c_str());
  if (directory == nullptr) return errno != ENOENT && errno != ENOTDIR;
  bool found = false;
  while (const dirent* entry = found ? nullptr : ::readdir(directory))
    found = std::string_view(entry->d_name).starts_with(part);
  ::closedir(directory);
  return found;
}

bool has_pci_vendor(std::uint32_t vendor, const char* list) {
  std::FILE* const file = std::fopen(list, "re");
  if (file == nullptr) return errno != ENOENT && errno != ENOTDIR;
  char* line = nullptr;
  std::size_t room = 0;
  bool found = false;
  while (!found && ::getline(&line, &room, file) > 0) {
    unsigned device = 0;  // the vendor is above its number
    found = std::sscanf(line, "%*s %8x", &device) == 1 && device >> 16 == vendor;
  }
  std::free(line);
  std::fclose(file);
  return found;
}

}  // namespace tutti::os
