// SPDX-License-Identifier: BSD-3-Clause
#include "os/limits.h"

#include <sys/resource.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/bits.h"
#include "os/cgroup.h"
#include "os/small_file.h"

namespace tutti::os {
namespace {

std::uint64_t soft_limit(int which) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource>(which), &limit) != 0) return unlimited;
  return limit.rlim_cur == RLIM_INFINITY ? unlimited : limit.rlim_cur;
}

// The bytes that the word at `index` of /proc/self/statm counts.
std::optional<std::uint64_t> used(int index) {
  char text[128];
  if (!read_file("/proc/self/statm", text)) return std::nullopt;
  char* at = text;
  for (; index > 0; --index) std::strtoull(at, &at, 10);
  return std::strtoull(at, nullptr, 10) * page_bytes;
}

}  // namespace

std::uint64_t physical_memory_bytes() {
  struct sysinfo info {};
  if (::sysinfo(&info) != 0) return 0;
  return std::uint64_t{info.totalram} * info.mem_unit;
}

std::uint64_t available_memory_bytes() {
  char info[512];
  constexpr char key[] = "MemAvailable:";
  const char* found = read_file("/proc/meminfo", info) ? std::strstr(info, key) : nullptr;
  const std::uint64_t machine = found == nullptr
                                    ? unlimited  // the file says kB
                                    : std::strtoull(found + sizeof(key) - 1, nullptr, 10) * 1024;
  return std::min(machine, cgroup_memory_left_bytes());
}

std::uint64_t promise_limit_bytes() {
  char mode[8];
  struct sysinfo info {};
  if (!read_file("/proc/sys/vm/overcommit_memory", mode)) mode[0] = '0';
  if (mode[0] == '2') return 0;
  if (mode[0] == '1' || ::sysinfo(&info) != 0) return unlimited;
  return (std::uint64_t{info.totalram} + info.totalswap) * info.mem_unit;
}

std::uint64_t address_space_limit_bytes() { return soft_limit(RLIMIT_AS); }
std::uint64_t private_memory_limit_bytes() { return soft_limit(RLIMIT_DATA); }
std::uint64_t file_size_limit_bytes() { return soft_limit(RLIMIT_FSIZE); }

std::uint64_t address_space_left_bytes() {
  // What x86-64 and arm64 give to a process that does not ask for more.
  constexpr std::uint64_t all = std::uint64_t{1} << 47;
  const std::uint64_t limit = std::min(address_space_limit_bytes(), all);
  return limit - std::min(limit, used(0).value_or(0));
}

std::optional<std::uint64_t> resident_shared_bytes() { return used(2); }

}  // namespace tutti::os
