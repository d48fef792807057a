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

// What is read, and where: too much for small stacks.
struct Texts {
  char path[512], controller[512], directory[1024], file[1100], listing[4096], stat[8192];
};

// The path of a process in the cgroup hierarchy of `controller` ("" is version 2's only one), from
// the lines "number:controller,controller:path" of its /proc/PID/cgroup.
bool cgroup_path(const char* listing, const char* controller, Texts& texts) {
  char(&text)[sizeof texts.listing] = texts.listing;
  if (!read_file(listing, text)) return false;
  const std::size_t length = std::strlen(controller);
  for (char* line = text; *line != '\0';) {
    char* end = line + std::strcspn(line, "\n");
    char* next = *end == '\0' ? end : end + 1;
    *end = '\0';
    char* names = std::strchr(line, ':');
    char* where = names != nullptr ? std::strchr(names + 1, ':') : nullptr;
    if (where != nullptr && std::strlen(where + 1) < sizeof texts.path) {
      std::strcpy(texts.path, where + 1);
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
std::int64_t quota_v2(Texts& texts) {
  char(&file)[sizeof texts.file] = texts.file;
  char text[128];
  long long quota_us = 0, period_us = 0;
  std::snprintf(file, sizeof file, "%s/cpu.max", texts.directory);
  if (!read_file(file, text)) return 0;
  return std::sscanf(text, "%lld %lld", &quota_us, &period_us) == 2 ? milli(quota_us, period_us)
                                                                    : 0;
}

std::int64_t quota_v1(Texts& texts) {
  char(&file)[sizeof texts.file] = texts.file;
  char text[128];
  std::snprintf(file, sizeof file, "%s/cpu.cfs_quota_us", texts.directory);
  if (!read_file(file, text)) return 0;
  const long long quota_us = std::atoll(text);
  std::snprintf(file, sizeof file, "%s/cpu.cfs_period_us", texts.directory);
  if (!read_file(file, text)) return 0;
  return milli(quota_us, std::atoll(text));
}

// The limit of a directory of the hierarchy; `unlimited` where it has none, which version 1 says by
// a number close to 2^63.
std::uint64_t memory_limit(Texts& texts, const char* name) {
  char limit[64];
  std::snprintf(texts.file, sizeof texts.file, "%s/%s", texts.directory, name);
  if (!read_file(texts.file, limit) || limit[0] == 'm') return unlimited;
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
std::uint64_t memory_left(Texts& texts, const char* limit_name, const char* usage_name) {
  char(&file)[sizeof texts.file] = texts.file;
  char usage[64];
  const std::uint64_t most = memory_limit(texts, limit_name);
  if (most == unlimited) return unlimited;
  std::snprintf(file, sizeof file, "%s/%s", texts.directory, usage_name);
  if (!read_file(file, usage)) return unlimited;
  std::snprintf(file, sizeof file, "%s/memory.stat", texts.directory);
  std::uint64_t used = std::strtoull(usage, nullptr, 10);
  if (read_file(file, texts.stat)) used -= std::min(used, cache_of(texts.stat));
  return most - std::min(most, used);
}

// The least that `mount` with the path, and the directories above it, grant: a limit holds for
// everything below it. Inside a container the path may be the host's, and only the mount itself is
// there.
template <class Grant, class Value>
Value least_of(const char* mount, Texts& texts, Grant grant, Value none) {
  Value least = none;
  for (;;) {
    std::snprintf(texts.directory, sizeof texts.directory, "%s%s", mount, texts.path);
    const Value here = grant(texts);
    if (here != none && (least == none || here < least)) least = here;
    char* last = std::strrchr(texts.path, '/');
    if (last == nullptr) return least;
    *last = '\0';
  }
}

template <class Grant2, class Grant1>
std::uint64_t least_memory(const char* listing, const char* mount, Grant2 version2,
                           Grant1 version1) {
  // Asked by forks, which come one after the other, at times on the stack of a signal handler.
  static Texts texts;
  std::uint64_t least = unlimited;
  if (cgroup_path(listing, "", texts)) least = least_of(mount, texts, version2, unlimited);
  if (least != unlimited || !cgroup_path(listing, "memory", texts)) return least;
  std::snprintf(texts.controller, sizeof texts.controller, "%s/memory", mount);
  return least_of(texts.controller, texts, version1, unlimited);
}

}  // namespace

std::int64_t cgroup_cpu_quota_milli(const char* listing, const char* mount) {
  Texts texts;
  if (cgroup_path(listing, "", texts))
    if (const std::int64_t quota = least_of(mount, texts, quota_v2, std::int64_t{0})) return quota;
  if (!cgroup_path(listing, "cpu", texts)) return 0;
  std::snprintf(texts.controller, sizeof texts.controller, "%s/cpu", mount);
  return least_of(texts.controller, texts, quota_v1, std::int64_t{0});
}

std::uint64_t cgroup_memory_limit_bytes(const char* listing, const char* mount) {
  return least_memory(
      listing, mount, [](Texts& texts) { return memory_limit(texts, "memory.max"); },
      [](Texts& texts) { return memory_limit(texts, "memory.limit_in_bytes"); });
}

std::uint64_t cgroup_memory_left_bytes(const char* listing, const char* mount) {
  return least_memory(
      listing, mount,
      [](Texts& texts) { return memory_left(texts, "memory.max", "memory.current"); },
      [](Texts& texts) {
        return memory_left(texts, "memory.limit_in_bytes", "memory.usage_in_bytes");
      });
}

}  // namespace tutti::os
