// SPDX-License-Identifier: BSD-3-Clause
#include "os/loads.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

#include <cstring>

namespace tutti::os {
namespace {

struct Search {
  const char* beginning;
  char path[4096];
};

// The loader's lock is held, so that only the path is taken.
int look_at(dl_phdr_info* info, std::size_t, void* into) {
  auto& search = *static_cast<Search*>(into);
  const char* slash = std::strrchr(info->dlpi_name, '/');
  const char* file = slash != nullptr ? slash + 1 : info->dlpi_name;
  if (std::strncmp(file, search.beginning, std::strlen(search.beginning)) != 0 ||
      std::strlen(info->dlpi_name) >= sizeof search.path)
    return 0;
  std::strcpy(search.path, info->dlpi_name);
  return 1;
}

}  // namespace

std::string loaded_file(const char* beginning) {
  Search search{beginning, ""};
  ::dl_iterate_phdr(look_at, &search);
  return search.path;
}

std::uint64_t count_loads() {
  std::uint64_t loads = 0;
  const auto first = [](dl_phdr_info* info, std::size_t, void* into) {
    *static_cast<std::uint64_t*>(into) = info->dlpi_adds;
    return 1;
  };
  ::dl_iterate_phdr(first, &loads);
  return loads;
}

bool expect_loads() {
  if (g_loader_bytes.load(std::memory_order_relaxed) == 0) return false;
  g_has_loaded.exchange(false, std::memory_order_acq_rel);  // pairs with note_load()
  return true;
}

void watch_loads() {
  Dl_info theirs{}, ours{};
  const auto base = static_cast<std::uintptr_t>(::getauxval(AT_BASE));
  void* const calloc = ::dlsym(RTLD_DEFAULT, "calloc");
  if (base == 0 || calloc == nullptr || ::dladdr(calloc, &theirs) == 0 ||
      ::dladdr(&g_has_loaded, &ours) == 0 || theirs.dli_fbase != ours.dli_fbase)
    return;
  const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(base);
  const auto* parts = reinterpret_cast<const ElfW(Phdr)*>(base + header->e_phoff);
  std::uintptr_t end = 0;
  for (int i = 0; i < header->e_phnum; ++i)
    if (parts[i].p_type == PT_LOAD && parts[i].p_vaddr + parts[i].p_memsz > end)
      end = parts[i].p_vaddr + parts[i].p_memsz;
  g_loader_begin.store(base, std::memory_order_relaxed);
  g_loader_bytes.store(end, std::memory_order_relaxed);
}

}  // namespace tutti::os
