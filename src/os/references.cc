// SPDX-License-Identifier: BSD-3-Clause
#include "os/references.h"

#include <elf.h>
#include <link.h>

#include <algorithm>

namespace tutti::os {
namespace {

ObjectRange range_of(const dl_phdr_info& info) {
  ObjectRange range{UINTPTR_MAX, 0};
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info.dlpi_phdr[i];
    if (header.p_type != PT_LOAD) continue;
    range.first = std::min<std::uintptr_t>(range.first, info.dlpi_addr + header.p_vaddr);
    range.end =
        std::max<std::uintptr_t>(range.end, info.dlpi_addr + header.p_vaddr + header.p_memsz);
  }
  return range;
}

struct Search {
  const void* address;
  ObjectRange found;
};
int look(dl_phdr_info* info, std::size_t, void* into) {
  auto& search = *static_cast<Search*>(into);
  const ObjectRange range = range_of(*info);
  if (!range.holds(search.address)) return 0;
  search.found = range;
  return 1;
}

// What the dynamic section says. Of most objects the loader has turned its addresses into those in
// memory, but not of what it cannot write to.
class Dynamic {
 public:
  Dynamic(const dl_phdr_info& info, const ObjectRange& range) : range_(range) {
    const ElfW(Dyn)* entry = nullptr;
    for (int i = 0; i < info.dlpi_phnum; ++i)
      if (info.dlpi_phdr[i].p_type == PT_DYNAMIC)
        entry = reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);
    for (; entry != nullptr && entry->d_tag != DT_NULL; ++entry)
      if (entry->d_tag >= 0 && entry->d_tag < DT_NUM)
        values_[entry->d_tag] = entry->d_un.d_val;
      else if (entry->d_tag == DT_RELACOUNT)
        relative_ = entry->d_un.d_val;
    bias_ = info.dlpi_addr;
  }
  template <class T>
  [[nodiscard]] const T* at(int tag) const {
    const std::uintptr_t value = values_[tag];
    if (value == 0) return nullptr;
    return reinterpret_cast<const T*>(value < range_.first ? bias_ + value : value);
  }
  [[nodiscard]] std::size_t value(int tag) const { return values_[tag]; }
  [[nodiscard]] std::size_t relative() const { return relative_; }

 private:
  const ObjectRange& range_;
  std::uintptr_t values_[DT_NUM] = {};
  std::uintptr_t bias_ = 0;
  std::size_t relative_ = 0;  // relocations without a symbol, which come first
};

struct Visit {
  void (*visit)(void* context, const ObjectRange& object, const char* name);
  void* context;
};

// Tables of symbols do not say how long they are, and which of them are called only relocations do.
int walk(dl_phdr_info* info, std::size_t, void* visit) {
  const auto& [call, context] = *static_cast<const Visit*>(visit);
  const ObjectRange range = range_of(*info);
  const Dynamic dynamic(*info, range);
  const auto* symbols = dynamic.at<ElfW(Sym)>(DT_SYMTAB);
  const auto* names = dynamic.at<char>(DT_STRTAB);
  if (symbols == nullptr || names == nullptr) return 0;
  const auto each = [&](const ElfW(Rela) * relocations, std::size_t from, std::size_t bytes) {
    if (relocations == nullptr) return;
    for (std::size_t i = from; i < bytes / sizeof *relocations; ++i) {
      const ElfW(Sym)& symbol = symbols[ELF64_R_SYM(relocations[i].r_info)];
      if (symbol.st_name != 0 && symbol.st_shndx == SHN_UNDEF)
        call(context, range, names + symbol.st_name);
    }
  };
  each(dynamic.at<ElfW(Rela)>(DT_RELA), dynamic.relative(), dynamic.value(DT_RELASZ));
  if (dynamic.value(DT_PLTREL) == DT_RELA)
    each(dynamic.at<ElfW(Rela)>(DT_JMPREL), 0, dynamic.value(DT_PLTRELSZ));
  return 0;
}

}  // namespace

ObjectRange object_with(const void* address) {
  Search search{address, {}};
  ::dl_iterate_phdr(look, &search);
  return search.found;
}

void each_reference(void (*visit)(void* context, const ObjectRange& object, const char* name),
                    void* context) {
  Visit all{visit, context};
  ::dl_iterate_phdr(walk, &all);
}

}  // namespace tutti::os
