// SPDX-License-Identifier: BSD-3-Clause
#include "os/affinity.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tutti::os {
namespace {

// The whole of a small file, as a string; false when it cannot be read.
template <std::size_t size>
bool read_file(const char* path, char (&text)[size]) {
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t length = ::read(fd, text, size - 1);
  ::close(fd);
  if (length < 0) return false;
  text[length] = '\0';
  return true;
}

// The path of this process in the cgroup hierarchy whose /proc/self/cgroup line has `key`
// ("0::" for v2, ":cpu," and the like for v1).
bool cgroup_path(const char* key, char (&path)[512]) {
  char text[4096];
  if (!read_file("/proc/self/cgroup", text)) return false;
  const char* found = std::strstr(text, key);
  if (found == nullptr) return false;
  const char* begin = std::strchr(found, '/');
  if (begin == nullptr) return false;
  const std::size_t length = std::strcspn(begin, "\n");
  if (length >= sizeof path) return false;
  std::memcpy(path, begin, length);
  path[length] = '\0';
  return true;
}

std::int64_t milli(long long quota_us, long long period_us) {
  return quota_us > 0 && period_us > 0 ? quota_us * 1000 / period_us : 0;
}

std::int64_t quota_v2() {
  char path[512], file[640], text[128];
  if (!cgroup_path("0::", path)) return 0;
  long long quota_us = 0, period_us = 0;
  // Inside a container the path is that of the host, and the files are at the root.
  std::snprintf(file, sizeof file, "/sys/fs/cgroup%s/cpu.max", path);
  if (!read_file(file, text) && !read_file("/sys/fs/cgroup/cpu.max", text)) return 0;
  return std::sscanf(text, "%lld %lld", &quota_us, &period_us) == 2 ? milli(quota_us, period_us)
                                                                    : 0;
}

std::int64_t quota_v1() {
  char path[512], file[640], text[128];
  if (!cgroup_path(":cpu", path)) return 0;
  long long values[2] = {0, 0};
  const char* names[2] = {"cpu.cfs_quota_us", "cpu.cfs_period_us"};
  for (int i = 0; i < 2; ++i) {
    char root[128];
    std::snprintf(file, sizeof file, "/sys/fs/cgroup/cpu%s/%s", path, names[i]);
    std::snprintf(root, sizeof root, "/sys/fs/cgroup/cpu/%s", names[i]);
    if (!read_file(file, text) && !read_file(root, text)) return 0;
    values[i] = std::atoll(text);
  }
  return milli(values[0], values[1]);
}

}  // namespace

int CpuMask::count() const {
  int sum = 0;
  for (std::uint64_t word : words) sum += std::popcount(word);
  return sum;
}

bool CpuMask::within(const CpuMask& other) const {
  for (std::size_t i = 0; i < words.size(); ++i)
    if ((words[i] & ~other.words[i]) != 0) return false;
  return true;
}

CpuMask& CpuMask::operator|=(const CpuMask& other) {
  for (std::size_t i = 0; i < words.size(); ++i) words[i] |= other.words[i];
  return *this;
}

CpuMask usable_cpus() {
  CpuMask mask;
  static_assert(sizeof(cpu_set_t) == sizeof mask.words);
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) std::memcpy(&mask.words, &set, sizeof set);
  return mask;
}

std::int64_t cgroup_cpu_quota_milli() {
  const std::int64_t v2 = quota_v2();
  return v2 != 0 ? v2 : quota_v1();
}

std::size_t last_level_cache_bytes() {
  std::size_t largest = 0;
  for (int index = 0; index < 8; ++index) {
    char path[96], text[32];
    std::snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", index);
    if (!read_file(path, text)) break;
    char* unit = nullptr;
    std::size_t bytes = std::strtoull(text, &unit, 10);
    if (*unit == 'K') bytes <<= 10;
    if (*unit == 'M') bytes <<= 20;
    largest = bytes > largest ? bytes : largest;
  }
  return largest != 0 ? largest : std::size_t{32} << 20;
}

}  // namespace tutti::os
