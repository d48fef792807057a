// SPDX-License-Identifier: BSD-3-Clause
#include "choice/measure.h"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <thread>

#include "choice/kept.h"
#include "os/affinity.h"

namespace tutti::choice {
namespace {

constexpr std::int64_t second_ns = 1'000'000'000;

TEST(Measure, TwoThreadsFindCostsThatCanBe) {
  const auto first = std::make_unique<segment::Desk>(), second = std::make_unique<segment::Desk>();
  std::optional<Costs> other;
  std::thread answers([&] { other = measure(Role::answers, *second, *first, 20 * second_ns); });
  const auto costs = measure(Role::asks, *first, *second, 20 * second_ns);
  answers.join();
  EXPECT_FALSE(other.has_value());
  // On one core a round takes a time slice, which makes no costs.
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "there is one core";
  ASSERT_TRUE(costs.has_value());
  EXPECT_TRUE(are_plausible(*costs));
}

TEST(Measure, EndsWhereNobodyAnswers) {
  const auto first = std::make_unique<segment::Desk>(), second = std::make_unique<segment::Desk>();
  EXPECT_FALSE(measure(Role::asks, *first, *second, second_ns / 100).has_value());
  EXPECT_FALSE(measure(Role::answers, *first, *second, second_ns / 100).has_value());
}

TEST(Measure, ACoreGoesFromOneThreadToAnother) {
  const os::CpuMask before = os::usable_cpus();
  // Somebody else may need this core for a while.
  std::optional<double> ns;
  for (int attempt = 0; attempt < 20 && !ns; ++attempt) ns = measure_switch();
  EXPECT_EQ(os::usable_cpus(), before);
  ASSERT_TRUE(ns.has_value());
  // It is two system calls at least.
  EXPECT_GT(*ns, 50);
  EXPECT_LT(*ns, 1e6);
}

TEST(Measure, ImplausibleCosts) {
  EXPECT_TRUE(are_plausible(usual));
  Costs costs = usual;
  costs.left_ns = -3;
  EXPECT_FALSE(are_plausible(costs));
  costs.left_ns = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(are_plausible(costs));
  costs = usual;
  costs.copy_ns = costs.handed_back_ns + 1;
  EXPECT_FALSE(are_plausible(costs));
  costs = usual;
  costs.flag_ns = 1e9;
  EXPECT_FALSE(are_plausible(costs));
}

class Kept : public testing::Test {
 protected:
  Kept() { std::filesystem::create_directories(folder_); }
  ~Kept() override { std::filesystem::remove_all(folder_); }
  std::string folder_ = testing::TempDir() + "kept-" + std::to_string(::getpid());
  std::string file_ = folder_ + "/cache/tutti/costs-host";
};

TEST_F(Kept, WhatIsKeptIsFound) {
  EXPECT_FALSE(load_costs(file_).has_value());
  Costs costs{.flag_ns = 101.5,
              .line_ns = 0,
              .left_ns = 33.3,
              .handed_back_ns = 45,
              .short_ns = 99,
              .reserved_ns = 101.5,
              .copy_ns = 12,
              .switch_ns = 1234.5};
  ASSERT_TRUE(keep_costs(file_, costs));
  const auto found = load_costs(file_);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->flag_ns, 101.5);
  EXPECT_EQ(found->line_ns, 0);
  EXPECT_EQ(found->left_ns, 33.3);
  EXPECT_EQ(found->handed_back_ns, 45);
  EXPECT_EQ(found->short_ns, 99);
  EXPECT_EQ(found->reserved_ns, 101.5);
  EXPECT_EQ(found->copy_ns, 12);
  EXPECT_EQ(found->switch_ns, 1234.5);
  EXPECT_FALSE(found->hands_back());
  EXPECT_FALSE(found->reserves());
  // Nothing but the file itself is left.
  int files = 0;
  for ([[maybe_unused]] const auto& entry :
       std::filesystem::directory_iterator(folder_ + "/cache/tutti"))
    ++files;
  EXPECT_EQ(files, 1);
}

TEST_F(Kept, OtherTextIsNot) {
  const std::string good =
      "costs 4\nflag_ps 9999\nline_ps 9999\nleft_ps 9999\nhanded_back_ps 9999\nshort_ps 9999\n"
      "reserved_ps 9999\ncopy_ps 9999\nswitch_ps 9999\n";
  const auto with = [&](const char* from, const char* to) {
    return std::string(good).replace(good.find(from), std::strlen(from), to);
  };
  for (const std::string& text :
       {std::string(), std::string("costs"), good.substr(0, good.find("copy")),
        with("costs 4", "costs 3"), with("flag_ps 9999", "flag_ps nan"),
        with("left_ps 9999", "left_ps -1"), with("reserved_ps 9999", "reserved_ps 0"),
        with("copy_ps 9999", "copy_ps 99999999999999"), with("switch_ps 9999", "switch_ps 0")}) {
    ASSERT_TRUE(keep_costs(file_, usual));
    std::ofstream(file_) << text;
    EXPECT_FALSE(load_costs(file_).has_value()) << text;
  }
  std::ofstream(file_) << good;
  EXPECT_TRUE(load_costs(file_).has_value());
}

TEST_F(Kept, WhereNothingCanBeWritten) {
  EXPECT_FALSE(keep_costs("", usual));
  EXPECT_FALSE(keep_costs("/proc/tutti/costs", usual));
  EXPECT_FALSE(load_costs("").has_value());
}

TEST_F(Kept, NotForEver) {
  ASSERT_TRUE(keep_costs(file_, usual));
  const auto long_ago = std::filesystem::file_time_type::clock::now() - std::chrono::hours(24 * 8);
  std::filesystem::last_write_time(file_, long_ago);
  EXPECT_FALSE(load_costs(file_).has_value());
  // Whichever host keeps something removes what is of no use.
  const std::string other = file_ + "-other", foreign = folder_ + "/cache/tutti/machine.json";
  std::ofstream(foreign) << "{}";
  std::filesystem::last_write_time(foreign, long_ago);
  ASSERT_TRUE(keep_costs(other, usual));
  EXPECT_FALSE(std::filesystem::exists(file_));
  EXPECT_TRUE(std::filesystem::exists(other));
  EXPECT_TRUE(std::filesystem::exists(foreign));
}

TEST_F(Kept, NorByAClockThatWasWrong) {
  ASSERT_TRUE(keep_costs(file_, usual));
  const auto ahead = std::filesystem::file_time_type::clock::now() + std::chrono::hours(24 * 365);
  std::filesystem::last_write_time(file_, ahead);
  EXPECT_FALSE(load_costs(file_).has_value());
  const std::string other = file_ + "-other";
  ASSERT_TRUE(keep_costs(other, usual, false));
  EXPECT_TRUE(std::filesystem::exists(file_));
  ASSERT_TRUE(keep_costs(other, usual));
  EXPECT_FALSE(std::filesystem::exists(file_));
}

TEST_F(Kept, NothingIsReadThatIsNoFile) {
  ASSERT_TRUE(keep_costs(file_, usual));
  const std::string link = file_ + "-link", pipe = file_ + "-pipe";
  std::filesystem::create_symlink(file_, link);
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_FALSE(load_costs(link).has_value());
  EXPECT_FALSE(load_costs(pipe).has_value());
}

// What two ranks measure differs by some percent from time to time.
TEST(Costs, SlotsAreTakenBackWhereThatGainsATwentieth) {
  EXPECT_TRUE((Costs{.short_ns = 150, .reserved_ns = 135}).reserves());
  EXPECT_FALSE((Costs{.short_ns = 146.4, .reserved_ns = 141.1}).reserves());
  EXPECT_FALSE((Costs{.short_ns = 100, .reserved_ns = 110}).reserves());
}

TEST(KeptFile, IsInTheCacheFolder) {
  EXPECT_TRUE(file_in("/somewhere", "/home/me").starts_with("/somewhere/tutti/costs-"));
  EXPECT_TRUE(file_in("relative", "/home/me").starts_with("/home/me/.cache/tutti/costs-"));
  EXPECT_TRUE(file_in(nullptr, "/home/me").starts_with("/home/me/.cache/tutti/costs-"));
  EXPECT_EQ(file_in(nullptr, nullptr), "");
  EXPECT_EQ(file_in("relative", "here"), "");
}

}  // namespace
}  // namespace tutti::choice
