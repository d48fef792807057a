// SPDX-License-Identifier: BSD-3-Clause
#include "os/affinity.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "os/relatives.h"
#include "os/small_file.h"

namespace tutti::os {
namespace {

// Written before main, and in MPI_Init: never by two threads at once.
constinit CpuMask g_home;
constinit std::atomic<bool> g_home_noted{false};

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
  // A mask with CPUs that there is no room for could not be restored.
  if (before.count() == 0 || !run_on(all)) return before;
  const CpuMask possible = usable_cpus();
  return run_on(before) ? possible : before;
}

CpuMask launcher_cpus() {
  for (const char* const rank : {"PMIX_RANK", "PMI_RANK"})
    if (const pid_t started_by = launcher(rank); started_by > 0) return usable_cpus(started_by);
  return {};
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

CpuMask first_cpus(std::span<const std::uint64_t> words) {
  CpuMask mask;
  static_assert(sizeof(cpu_set_t) == sizeof mask.words);
  const std::size_t room = std::min(words.size(), mask.words.size());
  if (std::ranges::any_of(words.subspan(room), [](std::uint64_t word) { return word != 0; }))
    return mask;
  std::ranges::copy(words.first(room), mask.words.begin());
  return mask;
}

CpuMask usable_cpus(pid_t thread) {
  // The kernel wants room for all CPUs that it might have, whatever it has.
  constexpr std::size_t most_cpus = 65536;
  std::array<std::uint64_t, most_cpus / 64> words{};
  const long bytes = ::syscall(SYS_sched_getaffinity, thread, sizeof words, words.data());
  return bytes > 0 ? first_cpus(words) : CpuMask{};
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

bool run_on(const CpuMask& cpus, pthread_t thread) {
  cpu_set_t set;
  std::memcpy(&set, &cpus.words, sizeof set);
  return ::pthread_setaffinity_np(thread, sizeof set, &set) == 0;
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
