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
#include "os/cgroup.h"

namespace tutti::os {
namespace {

std::uint64_t soft_limit(int which) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource>(which), &limit) != 0) return unlimited;
  return limit.rlim_cur == RLIM_INFINITY ? unlimited : limit.rlim_cur;
}

// The start of a file of /proc; "" if it cannot be read.
template <std::size_t most>
struct Text {
  explicit Text(const char* path) {
    const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    const ssize_t length = ::read(fd, text, most - 1);
    ::close(fd);
    text[std::max<ssize_t>(length, 0)] = '\0';
  }
  char text[most] = "";
};

}  // namespace

std::uint64_t physical_memory_bytes() {
  struct sysinfo info {};
  if (::sysinfo(&info) != 0) return 0;
  return std::uint64_t{info.totalram} * info.mem_unit;
}

std::uint64_t available_memory_bytes() {
  const Text<512> info("/proc/meminfo");
  constexpr char key[] = "MemAvailable:";
  const char* found = std::strstr(info.text, key);
  const std::uint64_t machine = found == nullptr
                                    ? unlimited  // the file says kB
                                    : std::strtoull(found + sizeof(key) - 1, nullptr, 10) * 1024;
  return std::min(machine, cgroup_memory_left_bytes());
}

std::uint64_t promise_limit_bytes() {
  const Text<8> mode("/proc/sys/vm/overcommit_memory");
  struct sysinfo info {};
  if (mode.text[0] == '2') return 0;
  if (mode.text[0] == '1' || ::sysinfo(&info) != 0) return unlimited;
  return (std::uint64_t{info.totalram} + info.totalswap) * info.mem_unit;
}

std::uint64_t address_space_limit_bytes() { return soft_limit(RLIMIT_AS); }
std::uint64_t file_size_limit_bytes() { return soft_limit(RLIMIT_FSIZE); }

std::uint64_t address_space_left_bytes() {
  // What x86-64 and arm64 give to a process that does not ask for more.
  constexpr std::uint64_t all = std::uint64_t{1} << 47;
  const std::uint64_t limit = std::min(address_space_limit_bytes(), all);
  const Text<64> pages("/proc/self/statm");
  const std::uint64_t used = std::strtoull(pages.text, nullptr, 10) * page_bytes;
  return limit - std::min(limit, used);
}

}  // namespace tutti::os
