// SPDX-License-Identifier: BSD-3-Clause
#include "os/cgroup.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "os/limits.h"
#include "os/small_file.h"

namespace tutti::os {
namespace {

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

// The limit of a directory of the hierarchy; `unlimited` where it has none, which version 1 says by
// a number close to 2^63.
std::uint64_t memory_limit(const char* directory, const char* name) {
  char file[1100], limit[64];
  std::snprintf(file, sizeof file, "%s/%s", directory, name);
  if (!read_file(file, limit) || limit[0] == 'm') return unlimited;
  const std::uint64_t bytes = std::strtoull(limit, nullptr, 10);
  return bytes < std::uint64_t{1} << 62 ? bytes : unlimited;
}

// A number of memory.stat; 0: it is not there.
std::uint64_t number_of(const char* stat, const char* name) {
  const std::size_t length = std::strlen(name);
  for (const char* line = stat; *line != '\0';) {
    if (std::strncmp(line, name, length) == 0 && line[length] == ' ')
      return std::strtoull(line + length, nullptr, 10);
    line += std::strcspn(line, "\n");
    line += *line == '\n';
  }
  return 0;
}

// The cache of files, which can be given back, however often it was read. Version 1 names first
// what the processes of this very directory have, where often there are none.
std::uint64_t cache_of(const char* stat) {
  const std::uint64_t all =
      number_of(stat, "total_inactive_file") + number_of(stat, "total_active_file");
  return all != 0 ? all : number_of(stat, "inactive_file") + number_of(stat, "active_file");
}

// What it leaves of its limit.
std::uint64_t memory_left(const char* directory, const char* limit_name, const char* usage_name) {
  char file[1100], usage[64], stat[8192];
  const std::uint64_t most = memory_limit(directory, limit_name);
  if (most == unlimited) return unlimited;
  std::snprintf(file, sizeof file, "%s/%s", directory, usage_name);
  if (!read_file(file, usage)) return unlimited;
  std::snprintf(file, sizeof file, "%s/memory.stat", directory);
  std::uint64_t used = std::strtoull(usage, nullptr, 10);
  if (read_file(file, stat)) used -= std::min(used, cache_of(stat));
  return most - std::min(most, used);
}

// The least that `mount`/`path` and the directories above it grant: a limit holds for everything
// below it. Inside a container `path` may be the host's, and only the mount itself is there.
template <class Grant, class Value>
Value least_of(const char* mount, char* path, Grant grant, Value none) {
  Value least = none;
  for (;;) {
    char directory[1024];
    std::snprintf(directory, sizeof directory, "%s%s", mount, path);
    const Value here = grant(directory);
    if (here != none && (least == none || here < least)) least = here;
    char* last = std::strrchr(path, '/');
    if (last == nullptr) return least;
    *last = '\0';
  }
}

template <class Grant2, class Grant1>
std::uint64_t least_memory(const char* listing, const char* mount, Grant2 version2,
                           Grant1 version1) {
  char path[512], controller[512];
  std::uint64_t least = unlimited;
  if (cgroup_path(listing, "", path)) least = least_of(mount, path, version2, unlimited);
  if (least != unlimited || !cgroup_path(listing, "memory", path)) return least;
  std::snprintf(controller, sizeof controller, "%s/memory", mount);
  return least_of(controller, path, version1, unlimited);
}

}  // namespace

std::int64_t cgroup_cpu_quota_milli(const char* listing, const char* mount) {
  char path[512], controller[512];
  if (cgroup_path(listing, "", path))
    if (const std::int64_t quota = least_of(mount, path, quota_v2, std::int64_t{0})) return quota;
  if (!cgroup_path(listing, "cpu", path)) return 0;
  std::snprintf(controller, sizeof controller, "%s/cpu", mount);
  return least_of(controller, path, quota_v1, std::int64_t{0});
}

std::uint64_t cgroup_memory_limit_bytes(const char* listing, const char* mount) {
  return least_memory(
      listing, mount, [](const char* d) { return memory_limit(d, "memory.max"); },
      [](const char* d) { return memory_limit(d, "memory.limit_in_bytes"); });
}

std::uint64_t cgroup_memory_left_bytes(const char* listing, const char* mount) {
  return least_memory(
      listing, mount, [](const char* d) { return memory_left(d, "memory.max", "memory.current"); },
      [](const char* d) {
        return memory_left(d, "memory.limit_in_bytes", "memory.usage_in_bytes");
      });
}

}  // namespace tutti::os
