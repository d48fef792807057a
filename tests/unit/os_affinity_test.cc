// SPDX-License-Identifier: BSD-3-Clause
#include "os/affinity.h"
#include "os/cgroup.h"
#include "os/limits.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace tutti::os {
namespace {

CpuMask mask_of(std::initializer_list<int> cpus) {
  CpuMask mask;
  for (const int cpu : cpus)
    mask.words[static_cast<std::size_t>(cpu) / 64] |= std::uint64_t{1} << (cpu % 64);
  return mask;
}

TEST(CpuMask, CountsAndCompares) {
  const CpuMask none, low = mask_of({0, 3}), more = mask_of({0, 3, 64, 1023});
  EXPECT_EQ(none.count(), 0);
  EXPECT_EQ(low.count(), 2);
  EXPECT_EQ(more.count(), 4);
  EXPECT_TRUE(none.within(low));
  EXPECT_TRUE(low.within(low));
  EXPECT_TRUE(low.within(more));
  EXPECT_FALSE(more.within(low));
  EXPECT_FALSE(mask_of({64}).within(low));
}

// A kernel that may have more CPUs has longer masks.
TEST(CpuMask, HasTheFirstCpusOfALongerOne) {
  std::vector<std::uint64_t> words(128);
  words[0] = 9;
  words[15] = std::uint64_t{1} << 63;
  EXPECT_EQ(first_cpus(words), mask_of({0, 3, 1023}));
  words[16] = 1;
  EXPECT_EQ(first_cpus(words).count(), 0);
  EXPECT_EQ(first_cpus(std::span(words).first(1)), mask_of({0, 3}));
}

TEST(CpuMask, Unites) {
  CpuMask sum = mask_of({1});
  sum |= mask_of({1, 200});
  EXPECT_EQ(sum, mask_of({1, 200}));
}

TEST(CpuMask, Intersects) {
  const CpuMask few = mask_of({0, 3, 64, 200}), others = mask_of({3, 63, 64, 1023});
  EXPECT_EQ(few & others, mask_of({3, 64}));
  EXPECT_EQ(others & few, mask_of({3, 64}));
  EXPECT_EQ(few & few, few);
  EXPECT_EQ(few & CpuMask{}, CpuMask{});
}

TEST(CpuMask, Subtracts) {
  const CpuMask few = mask_of({0, 3, 64, 200}), others = mask_of({3, 63, 64, 1023});
  EXPECT_EQ(few - others, mask_of({0, 200}));
  EXPECT_EQ(others - few, mask_of({63, 1023}));
  EXPECT_EQ(few - few, CpuMask{});
  EXPECT_EQ(few - CpuMask{}, few);
}

TEST(CpuMask, IsWrittenAsLinuxDoes) {
  EXPECT_EQ(text_of({}), "");
  EXPECT_EQ(text_of(mask_of({0})), "0");
  EXPECT_EQ(text_of(mask_of({0, 1, 2, 3, 8})), "0-3,8");
  EXPECT_EQ(text_of(mask_of({1, 3, 4, 6})), "1,3-4,6");
  EXPECT_EQ(text_of(mask_of({63, 64, 1022, 1023})), "63-64,1022-1023");
  EXPECT_EQ(text_of(mask_of({1021, 1023})), "1021,1023");
}

TEST(UsableCpus, FollowTheThreadsAffinity) {
  const CpuMask all = usable_cpus();
  ASSERT_GT(all.count(), 0);
  std::thread([&all] {
    cpu_set_t one;
    CPU_ZERO(&one);
    int cpu = 0;
    while (!mask_of({cpu}).within(all)) ++cpu;
    CPU_SET(cpu, &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(usable_cpus(), mask_of({cpu}));
  }).join();
  EXPECT_EQ(usable_cpus(), all);
}

// Whoever binds the calling thread after it was noted takes nothing from the others.
TEST(HomeCpus, AreThoseThatWereNoted) {
  const CpuMask all = usable_cpus();
  EXPECT_EQ(home_cpus(), all);
  std::thread([&all] {
    int cpu = 0;
    while (!all.has(cpu)) ++cpu;
    const CpuMask first = CpuMask::of(cpu);
    note_home_cpus();
    ASSERT_TRUE(run_on(first));
    EXPECT_EQ(home_cpus(), all);
    note_home_cpus();
    EXPECT_EQ(home_cpus(), first);
    ASSERT_TRUE(run_on(all));
    EXPECT_EQ(home_cpus(), all) << "what it can use now is part of it";
  }).join();
  note_home_cpus();
}

// Prints what it finds, for the test below.
TEST(LauncherCpus, DISABLED_OfARank) {
  std::printf("launcher: %s.\n", text_of(launcher_cpus()).c_str());
}

// What a rank finds whose launcher may use these CPUs, and which is bound to CPU 0. `rank` is what
// starts this program; one more command behind it keeps a shell from becoming what it starts.
std::string found_under(const std::string& launcher, const std::string& rank) {
  const std::string bound = rank.empty() ? "SELF" : rank;
  std::string script = "taskset -c " + launcher + " sh -c \"taskset -c 0 " + bound + "; :\"";
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string() +
                           " --gtest_also_run_disabled_tests --gtest_filter=*OfARank";
  script.replace(script.find("SELF"), 4, self);
  std::FILE* const said = ::popen(script.c_str(), "r");
  std::string text;
  for (char line[256]; said != nullptr && std::fgets(line, sizeof line, said) != nullptr;)
    if (std::string(line).starts_with("launcher: ")) text += line;
  if (said != nullptr) ::pclose(said);
  return text;
}

TEST(LauncherCpus, AreThoseOfTheLauncher) {
  if (!mask_of({0, 1}).within(usable_cpus())) GTEST_SKIP() << "needs CPU 0 and 1";
  const std::string wrappers[] = {"env RANK=3 SELF", "env RANK=3 sh -c 'SELF; :'",
                                  "env RANK=3 sh -c 'timeout 60 SELF; :'"};
  for (const char* const variable : {"PMI_RANK", "PMIX_RANK"})
    for (std::string rank : wrappers) {
      rank.replace(rank.find("RANK"), 4, variable);
      EXPECT_EQ(found_under("0", rank), "launcher: 0.\n") << rank;
      EXPECT_EQ(found_under("1", rank), "launcher: 1.\n") << rank;
      EXPECT_EQ(found_under("0,1", rank), "launcher: 0-1.\n") << rank;
    }
  EXPECT_EQ(found_under("0,1", ""), "launcher: .\n") << "no launcher";
}

TEST(LastLevelCache, IsOfAPlausibleSize) {
  EXPECT_GE(last_level_cache_bytes(), std::size_t{256} << 10);
  EXPECT_LE(last_level_cache_bytes(), std::size_t{4} << 30);
}

// A directory of a test's own.
class InFiles : public ::testing::Test {
 protected:
  InFiles() { std::filesystem::create_directories(root_); }
  ~InFiles() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    const auto file = root_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  const std::filesystem::path root_ = std::filesystem::path(::testing::TempDir()) /
                                      ("tutti-affinity-" + std::to_string(::getpid()));
};

// A stand-in for /sys/devices/system/node.
class NumaDomains : public InFiles {
 protected:
  using Domains = std::vector<CpuMask>;

  [[nodiscard]] Domains domains() const { return numa_domains(root_.c_str()); }
};

TEST_F(NumaDomains, AreReadFromTheirLists) {
  write("node0/cpulist", "0-3,8-11\n");
  write("node1/cpulist", "4-7,12,64\n");
  EXPECT_EQ(domains(),
            (Domains{mask_of({0, 1, 2, 3, 8, 9, 10, 11}), mask_of({4, 5, 6, 7, 12, 64})}));
}

TEST_F(NumaDomains, MayHaveGapsInTheirNumbers) {
  write("node1/cpulist", "0\n");
  write("node8/cpulist", "1\n");
  EXPECT_EQ(domains(), (Domains{mask_of({0}), mask_of({1})}));
}

TEST_F(NumaDomains, OfMemoryAloneAreLeftOut) {
  write("node0/cpulist", "0-1\n");
  write("node1/cpulist", "\n");
  write("node2/cpulist", "2\n");
  EXPECT_EQ(domains(), (Domains{mask_of({0, 1}), mask_of({2})}));
}

TEST_F(NumaDomains, EndWithTheLastCpuOfAMask) {
  write("node0/cpulist", "1022-1030\n");
  EXPECT_EQ(domains(), Domains{mask_of({1022, 1023})});
}

TEST_F(NumaDomains, AreOneWhereTheSystemDoesNotSay) {
  ASSERT_EQ(domains().size(), 1u);
  EXPECT_EQ(domains()[0].count(), CpuMask::most);
}

TEST_F(NumaDomains, OfThisMachineHoldEachCpuOnce) {
  CpuMask all;
  for (const CpuMask& domain : numa_domains()) {
    EXPECT_EQ(all & domain, CpuMask{});
    all |= domain;
  }
  EXPECT_TRUE(usable_cpus().within(all)) << text_of(all);
}

// A stand-in for /proc/self/cgroup and /sys/fs/cgroup.
class CgroupQuota : public InFiles {
 protected:
  std::int64_t quota(const std::string& listing) {
    write("listing", listing);
    return cgroup_cpu_quota_milli((root_ / "listing").c_str(), (root_ / "sys").c_str());
  }
};

TEST_F(CgroupQuota, OfThisMachineIsNeverNegative) { EXPECT_GE(cgroup_cpu_quota_milli(), 0); }

TEST_F(CgroupQuota, Version2) {
  write("sys/a/b/cpu.max", "250000 100000\n");
  EXPECT_EQ(quota("0::/a/b\n"), 2500);
  write("sys/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(quota("0::/a/b\n"), 0);
}

TEST_F(CgroupQuota, OfThoseAboveHoldsToo) {
  write("sys/a/cpu.max", "150000 100000\n");
  write("sys/a/b/cpu.max", "max 100000\n");
  write("sys/a/b/c/cpu.max", "400000 100000\n");
  EXPECT_EQ(quota("0::/a/b/c\n"), 1500);
}

TEST_F(CgroupQuota, InAContainerTheFilesAreAtTheRoot) {
  write("sys/cpu.max", "50000 100000\n");
  EXPECT_EQ(quota("0::/\n"), 500);
  EXPECT_EQ(quota("0::/docker/0123456789\n"), 500);
}

TEST_F(CgroupQuota, Version1WhateverTheOrderOfControllers) {
  write("sys/cpu/job/cpu.cfs_quota_us", "300000\n");
  write("sys/cpu/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota("4:cpuset:/elsewhere\n3:cpu,cpuacct:/job\n"), 3000);
  EXPECT_EQ(quota("4:cpuset:/elsewhere\n3:cpuacct,cpu:/job\n0::/\n"), 3000);
  write("sys/cpu/job/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(quota("3:cpu,cpuacct:/job\n"), 0);
}

TEST_F(CgroupQuota, UnreadableListingsAreNoLimit) {
  EXPECT_EQ(quota(""), 0);
  EXPECT_EQ(quota("nonsense\n::\n:\n"), 0);
  EXPECT_EQ(cgroup_cpu_quota_milli("/nonexistent", "/nonexistent"), 0);
  EXPECT_EQ(cgroup_memory_left_bytes("/nonexistent", "/nonexistent"), unlimited);
}

TEST_F(CgroupQuota, MemoryThatIsLeft) {
  const auto left = [&](const std::string& listing) {
    write("listing", listing);
    return cgroup_memory_left_bytes((root_ / "listing").c_str(), (root_ / "sys").c_str());
  };
  write("sys/a/memory.max", "max\n");
  write("sys/a/memory.current", "5000\n");
  EXPECT_EQ(left("0::/a\n"), unlimited);
  write("sys/a/memory.max", "10000\n");
  EXPECT_EQ(left("0::/a\n"), 5000u);
  write("sys/a/memory.stat", "anon 4000\nfile 1000\ninactive_file 800\n");
  EXPECT_EQ(left("0::/a\n"), 5800u) << "a cache can be dropped";
  write("sys/a/memory.stat", "anon 4000\nfile 1000\ninactive_file 500\nactive_file 300\n");
  EXPECT_EQ(left("0::/a\n"), 5800u) << "however often it was read";
  write("sys/a/b/memory.max", "3000\n");
  write("sys/a/b/memory.current", "2900\n");
  EXPECT_EQ(left("0::/a/b\n"), 100u);
  EXPECT_EQ(left("0::/a\n"), 5800u);
  write("sys/memory/job/memory.limit_in_bytes", "7000\n");
  write("sys/memory/job/memory.usage_in_bytes", "8000\n");
  EXPECT_EQ(left("5:memory:/job\n0::/\n"), 0u) << "version 1, beyond its limit";
  write("sys/memory/job/memory.stat",
        "inactive_file 0\nactive_file 0\ntotal_inactive_file 2000\ntotal_active_file 1000\n");
  EXPECT_EQ(left("5:memory:/job\n0::/\n"), 2000u) << "version 1, of those below it";
}

TEST_F(CgroupQuota, MostMemory) {
  const auto most = [&](const std::string& listing) {
    write("listing", listing);
    return cgroup_memory_limit_bytes((root_ / "listing").c_str(), (root_ / "sys").c_str());
  };
  EXPECT_EQ(most("0::/a/b\n"), unlimited);
  write("sys/a/memory.max", "9000\n");
  write("sys/a/b/memory.max", "max\n");
  write("sys/a/b/memory.current", "4000\n");
  EXPECT_EQ(most("0::/a/b\n"), 9000u) << "whatever is used";
  write("sys/memory/job/memory.limit_in_bytes", "7000\n");
  EXPECT_EQ(most("5:memory:/job\n0::/\n"), 7000u);
  write("sys/memory/job/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(most("5:memory:/job\n0::/\n"), unlimited) << "version 1's way to say so";
}

}  // namespace
}  // namespace tutti::os
