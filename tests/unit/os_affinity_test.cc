// SPDX-License-Identifier: BSD-3-Clause
#include "os/affinity.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

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

TEST(CpuMask, Unites) {
  CpuMask sum = mask_of({1});
  sum |= mask_of({1, 200});
  EXPECT_EQ(sum, mask_of({1, 200}));
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

TEST(LastLevelCache, IsOfAPlausibleSize) {
  EXPECT_GE(last_level_cache_bytes(), std::size_t{256} << 10);
  EXPECT_LE(last_level_cache_bytes(), std::size_t{4} << 30);
}

// A stand-in for /proc/self/cgroup and /sys/fs/cgroup.
class CgroupQuota : public ::testing::Test {
 protected:
  CgroupQuota() { std::filesystem::create_directories(root_); }
  ~CgroupQuota() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    const auto file = root_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  std::int64_t quota(const std::string& listing) {
    write("listing", listing);
    return cgroup_cpu_quota_milli((root_ / "listing").c_str(), (root_ / "sys").c_str());
  }

 private:
  std::filesystem::path root_ =
      std::filesystem::path(::testing::TempDir()) / ("tutti-cgroup-" + std::to_string(::getpid()));
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
}

}  // namespace
}  // namespace tutti::os
