// SPDX-License-Identifier: BSD-3-Clause
#include "os/affinity.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tutti::os {
namespace {

// Written before main, and in MPI_Init: never by two threads at once.
constinit CpuMask g_home;
constinit std::atomic<bool> g_home_noted{false};

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

// The path of a process in the cgroup hierarchy of `controller` ("" is version 2's only one), from
// the lines "number:controller,controller:path" of its /proc/PID/cgroup.
bool cgroup_path(const char* listing, const char* controller, char (&path)[512]) {
  char text[4096];
  if (!read_file(listing, text)) return false;
  const std::size_t length = std::strlen(controller);
  for (char* line = text; *line != '\0';) {
    char* end = line + std::strcspn(line, "\n");
    char* next = *end == '\0' ? end : end + 1;
    *end = '\0';
    char* names = std::strchr(line, ':');
    char* where = names != nullptr ? std::strchr(names + 1, ':') : nullptr;
    if (where != nullptr && std::strlen(where + 1) < sizeof path) {
      std::strcpy(path, where + 1);
      for (const char* name = names + 1; name <= where; name += std::strcspn(name, ",:") + 1)
        if (std::strcspn(name, ",:") == length && std::memcmp(name, controller, length) == 0)
          return true;
    }
    line = next;
  }
  return false;
}

std::int64_t milli(long long quota_us, long long period_us) {
  return quota_us > 0 && period_us > 0 ? quota_us * 1000 / period_us : 0;
}

// What one directory of the hierarchy grants; 0: no limit of its own.
std::int64_t quota_v2(const char* directory) {
  char file[1100], text[128];
  long long quota_us = 0, period_us = 0;
  std::snprintf(file, sizeof file, "%s/cpu.max", directory);
  if (!read_file(file, text)) return 0;
  return std::sscanf(text, "%lld %lld", &quota_us, &period_us) == 2 ? milli(quota_us, period_us)
                                                                    : 0;
}

std::int64_t quota_v1(const char* directory) {
  char file[1100], text[128];
  std::snprintf(file, sizeof file, "%s/cpu.cfs_quota_us", directory);
  if (!read_file(file, text)) return 0;
  const long long quota_us = std::atoll(text);
  std::snprintf(file, sizeof file, "%s/cpu.cfs_period_us", directory);
  if (!read_file(file, text)) return 0;
  return milli(quota_us, std::atoll(text));
}

// The least that `mount`/`path` and the directories above it grant: a limit holds for everything
// below it. Inside a container `path` may be the host's, and only the mount itself is there.
template <class Quota>
std::int64_t least_quota(const char* mount, char* path, Quota quota_of) {
  std::int64_t least = 0;
  for (;;) {
    char directory[1024];
    std::snprintf(directory, sizeof directory, "%s%s", mount, path);
    const std::int64_t quota = quota_of(directory);
    if (quota > 0 && (least == 0 || quota < least)) least = quota;
    char* last = std::strrchr(path, '/');
    if (last == nullptr) return least;
    *last = '\0';
  }
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

CpuMask CpuMask::operator&(const CpuMask& other) const {
  CpuMask both;
  for (std::size_t i = 0; i < words.size(); ++i) both.words[i] = words[i] & other.words[i];
  return both;
}

CpuMask CpuMask::operator-(const CpuMask& other) const {
  CpuMask rest;
  for (std::size_t i = 0; i < words.size(); ++i) rest.words[i] = words[i] & ~other.words[i];
  return rest;
}

CpuMask& CpuMask::operator|=(const CpuMask& other) {
  for (std::size_t i = 0; i < words.size(); ++i) words[i] |= other.words[i];
  return *this;
}

CpuMask possible_cpus() {
  const CpuMask before = usable_cpus();
  CpuMask all;
  all.words.fill(~std::uint64_t{0});
  if (!run_on(all)) return before;
  const CpuMask possible = usable_cpus();
  return run_on(before) ? possible : before;
}

std::string text_of(const CpuMask& mask) {
  std::string text;
  for (int cpu = 0; cpu < CpuMask::most; ++cpu) {
    if (!mask.has(cpu)) continue;
    const int first = cpu;
    while (cpu + 1 < CpuMask::most && mask.has(cpu + 1)) ++cpu;
    if (!text.empty()) text += ',';
    text += std::to_string(first);
    if (cpu > first) text += '-' + std::to_string(cpu);
  }
  return text;
}

std::vector<CpuMask> numa_domains(const char* directory) {
  std::vector<CpuMask> domains;
  for (int node = 0, missing = 0; missing < 8; ++node) {  // numbers may have gaps
    char file[256], text[4096];
    std::snprintf(file, sizeof file, "%s/node%d/cpulist", directory, node);
    if (!read_file(file, text)) {
      ++missing;
      continue;
    }
    CpuMask mask;
    for (char* next = text; *next >= '0' && *next <= '9';) {  // "0-3,8-11"
      const long first = std::strtol(next, &next, 10);
      const long last = *next == '-' ? std::strtol(next + 1, &next, 10) : first;
      for (long cpu = first; cpu <= last && cpu < CpuMask::most; ++cpu)
        mask |= CpuMask::of(static_cast<int>(cpu));
      if (*next == ',') ++next;
    }
    if (mask.count() > 0) domains.push_back(mask);
  }
  if (domains.empty()) {
    CpuMask all;
    all.words.fill(~std::uint64_t{0});
    domains.push_back(all);
  }
  return domains;
}

CpuMask usable_cpus() {
  CpuMask mask;
  static_assert(sizeof(cpu_set_t) == sizeof mask.words);
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) std::memcpy(&mask.words, &set, sizeof set);
  return mask;
}

void note_home_cpus() {
  g_home = usable_cpus();
  g_home_noted.store(true, std::memory_order_release);
}

CpuMask home_cpus() {
  CpuMask home = usable_cpus();
  if (g_home_noted.load(std::memory_order_acquire)) home |= g_home;
  return home;
}

bool run_on(const CpuMask& cpus) {
  cpu_set_t set;
  std::memcpy(&set, &cpus.words, sizeof set);
  return ::sched_setaffinity(0, sizeof set, &set) == 0;
}

std::int64_t cgroup_cpu_quota_milli(const char* listing, const char* mount) {
  char path[512], controller[512];
  if (cgroup_path(listing, "", path))
    if (const std::int64_t quota = least_quota(mount, path, quota_v2)) return quota;
  if (!cgroup_path(listing, "cpu", path)) return 0;
  std::snprintf(controller, sizeof controller, "%s/cpu", mount);
  return least_quota(controller, path, quota_v1);
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
