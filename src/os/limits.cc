// SPDX-License-Identifier: BSD-3-Clause
#include "os/limits.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/bits.h"

namespace tutti::os {
namespace {

std::uint64_t soft_limit(int which) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource>(which), &limit) != 0) return unlimited;
  return limit.rlim_cur == RLIM_INFINITY ? unlimited : limit.rlim_cur;
}

}  // namespace

std::uint64_t physical_memory_bytes() {
  struct sysinfo info {};
  if (::sysinfo(&info) != 0) return 0;
  return std::uint64_t{info.totalram} * info.mem_unit;
}

std::uint64_t available_memory_bytes() {
  char text[512];
  const int fd = ::open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return unlimited;
  const ssize_t length = ::read(fd, text, sizeof(text) - 1);
  ::close(fd);
  if (length <= 0) return unlimited;
  text[length] = '\0';
  constexpr char key[] = "MemAvailable:";
  const char* found = std::strstr(text, key);
  if (found == nullptr) return unlimited;
  return std::strtoull(found + sizeof(key) - 1, nullptr, 10) * 1024;  // the file says kB
}

std::uint64_t address_space_limit_bytes() { return soft_limit(RLIMIT_AS); }
std::uint64_t file_size_limit_bytes() { return soft_limit(RLIMIT_FSIZE); }

std::uint64_t address_space_left_bytes() {
  // What x86-64 and arm64 give to a process that does not ask for more.
  constexpr std::uint64_t all = std::uint64_t{1} << 47;
  const std::uint64_t limit = std::min(address_space_limit_bytes(), all);
  char text[64];
  const int fd = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return limit;
  const ssize_t length = ::read(fd, text, sizeof(text) - 1);
  ::close(fd);
  if (length <= 0) return limit;
  text[length] = '\0';
  const std::uint64_t used = std::strtoull(text, nullptr, 10) * page_bytes;
  return limit - std::min(limit, used);
}

}  // namespace tutti::os
