// SPDX-License-Identifier: BSD-3-Clause
#include "os/program.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "os/memfd.h"

namespace tutti::os {
namespace {

// What the program's addresses are in memory more than in its file; false when that is not known.
bool find_bias(const ElfW(Phdr) * headers, std::size_t count, std::uintptr_t* bias) {
  for (std::size_t i = 0; i < count; ++i) {
    if (headers[i].p_type != PT_PHDR) continue;
    *bias = reinterpret_cast<std::uintptr_t>(headers) - headers[i].p_vaddr;
    return true;
  }
  return false;
}

}  // namespace

Pages zeroed_statics() {
  const auto* headers = reinterpret_cast<const ElfW(Phdr)*>(::getauxval(AT_PHDR));
  const std::size_t count = ::getauxval(AT_PHNUM);
  std::uintptr_t bias = 0;
  if (headers == nullptr || !find_bias(headers, count, &bias)) return {};
  std::uintptr_t first = 0, end = 0, read_only_end = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const ElfW(Phdr)& header = headers[i];
    const std::uintptr_t at = bias + header.p_vaddr;
    if (header.p_type == PT_GNU_RELRO) read_only_end = at + header.p_memsz;
    if (header.p_type != PT_LOAD || (header.p_flags & PF_W) == 0) continue;
    if (header.p_memsz <= header.p_filesz) continue;
    first = round_down(at + header.p_filesz, page_bytes);
    end = round_up(at + header.p_memsz, page_bytes);
  }
  // The linker protects whole pages only, rounded down.
  first = std::max(first, round_down(read_only_end, page_bytes));
  if (first >= end) return {};
  return {reinterpret_cast<std::byte*>(first), end - first};
}

int thread_count() {
  struct stat tasks {};
  // A directory has two links more than directories in it.
  if (::stat("/proc/self/task", &tasks) != 0 || tasks.st_nlink < 3) return 0;
  return static_cast<int>(tasks.st_nlink) - 2;
}

bool is_huge_page(const void* address) {
  // Documentation/admin-guide/mm/pagemap.rst: PAGEMAP_SCAN, its argument and PAGE_IS_HUGE.
  struct Region {
    std::uint64_t start, end, categories;
  } found{};
  struct Scan {
    std::uint64_t size = sizeof(Scan), flags = 0, start = 0, end = 0, walk_end = 0, vec = 0;
    std::uint64_t vec_len = 1, max_pages = 0, category_inverted = 0, category_mask = 0;
    std::uint64_t category_anyof_mask = 0, return_mask = 0;
  } scan;
  constexpr std::uint64_t page_is_huge = 1 << 6;
  scan.start = round_down(reinterpret_cast<std::uintptr_t>(address), page_bytes);
  scan.end = scan.start + page_bytes;
  scan.vec = reinterpret_cast<std::uintptr_t>(&found);
  scan.category_mask = scan.return_mask = page_is_huge;
  const int fd = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const int regions = ::ioctl(fd, _IOWR('f', 16, Scan), &scan);
  ::close(fd);
  return regions > 0;
}

bool has_pinned_memory() {
  std::FILE* const status = std::fopen("/proc/self/status", "re");
  if (status == nullptr) return true;
  constexpr const char* names[] = {"VmLck:", "VmPin:"};
  std::size_t told = 0;
  std::uint64_t pinned_kib = 0;
  char line[128];  // the list of the user's groups, which may have any length, comes in parts
  while (told < std::size(names) && std::fgets(line, sizeof line, status) != nullptr)
    for (const char* name : names)
      if (std::strncmp(line, name, std::strlen(name)) == 0) {
        pinned_kib += std::strtoull(line + std::strlen(name), nullptr, 10);
        ++told;
      }
  std::fclose(status);
  return told < std::size(names) || pinned_kib > 0;
}

TouchedRuns::TouchedRuns(const Pages& pages)
    : all_(pages), pagemap_(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)) {}

TouchedRuns::~TouchedRuns() {
  if (pagemap_ >= 0) ::close(pagemap_);
}

bool TouchedRuns::is_touched(std::size_t page) {
  // Documentation/admin-guide/mm/pagemap.rst: present, swapped out.
  constexpr std::uint64_t either = std::uint64_t{3} << 62;
  if (page - read_first_ >= read_pages_) {
    read_first_ = page;
    read_pages_ = std::min(std::size(entries_), all_.bytes / page_bytes - page);
    const std::size_t number = reinterpret_cast<std::uintptr_t>(all_.first) / page_bytes + page;
    has_failed_ = !read_file_at(pagemap_, number * sizeof(entries_[0]), entries_,
                                read_pages_ * sizeof(entries_[0]));
    if (has_failed_) return false;
  }
  return (entries_[page - read_first_] & either) != 0;
}

bool TouchedRuns::next(Pages* run) {
  const std::size_t pages = all_.bytes / page_bytes;
  while (at_ < pages && !has_failed_ && !is_touched(at_)) ++at_;
  const std::size_t first = at_;
  while (at_ < pages && !has_failed_ && is_touched(at_)) ++at_;
  *run = {all_.first + first * page_bytes, (at_ - first) * page_bytes};
  return run->bytes > 0 && !has_failed_;
}

}  // namespace tutti::os
