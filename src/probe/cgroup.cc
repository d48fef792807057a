// SPDX-License-Identifier: BSD-3-Clause
// Limits of this process's control group, versions 1 and 2: a limit of any group on the way up
// holds, so the smallest one counts.
#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

#include "probe/probe.h"

namespace tutti::probe {
namespace {

// Version 1 says "no limit" by a number close to 2^63, rounded down to pages.
constexpr std::uint64_t v1_unlimited = std::uint64_t{1} << 62;

std::optional<std::uint64_t> number(const std::optional<std::string>& text) {
  std::uint64_t value = 0;
  if (!text) return std::nullopt;
  const char* end = text->data() + text->size();
  if (std::from_chars(text->data(), end, value).ec != std::errc()) return std::nullopt;
  return value;
}

template <class T>
void lower(std::optional<T>& limit, T value) {
  limit = limit ? std::min(*limit, value) : value;
}

// Calls `look(directory)` for this process's group of a hierarchy and for each one above it. In a
// container the path of the group may not exist under the mount, whose root then is the group.
template <class Look>
void walk_up(const std::string& mount, std::string group, Look look) {
  while (true) {
    look(mount + group);
    const std::size_t slash = group.find_last_of('/');
    if (group.empty() || group == "/" || slash == std::string::npos) return;
    group.resize(slash);
  }
}

void read_v2(Cgroup& result, const std::string& directory) {
  if (const auto line = first_line(directory + "/cpu.max")) {
    std::istringstream words(*line);
    double quota = 0, period = 0;
    if (words >> quota >> period && period > 0) lower(result.cpus, quota / period);  // not "max"
  }
  if (const auto bytes = number(first_line(directory + "/memory.max")))
    lower(result.memory_bytes, *bytes);
}

void read_v1_cpu(Cgroup& result, const std::string& directory) {
  const auto quota = number(first_line(directory + "/cpu.cfs_quota_us"));  // -1: no limit
  const auto period = number(first_line(directory + "/cpu.cfs_period_us"));
  if (quota && period && *period > 0)
    lower(result.cpus, static_cast<double>(*quota) / static_cast<double>(*period));
}

void read_v1_memory(Cgroup& result, const std::string& directory) {
  const auto bytes = number(first_line(directory + "/memory.limit_in_bytes"));
  if (bytes && *bytes < v1_unlimited) lower(result.memory_bytes, *bytes);
}

bool lists(const std::string& controllers, const std::string& wanted) {
  return ("," + controllers + ",").find("," + wanted + ",") != std::string::npos;
}

}  // namespace

Cgroup cgroup() {
  Cgroup result;
  const std::string root = "/sys/fs/cgroup";
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {  // "id:controllers:/group"
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (controllers.empty()) {
      if (!first_line(root + "/cgroup.controllers")) continue;  // only a v1 machine's extra
      result.version = 2;
      walk_up(root, group, [&](const std::string& directory) { read_v2(result, directory); });
    } else if (lists(controllers, "cpu")) {
      result.version = 1;
      walk_up(root + "/cpu", group, [&](const std::string& d) { read_v1_cpu(result, d); });
    } else if (lists(controllers, "memory")) {
      result.version = 1;
      walk_up(root + "/memory", group, [&](const std::string& d) { read_v1_memory(result, d); });
    }
  }
  return result;
}

}  // namespace tutti::probe
