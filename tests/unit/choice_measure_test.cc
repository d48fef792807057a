// SPDX-License-Identifier: BSD-3-Clause
#include "choice/measure.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <thread>

#include "choice/kept.h"

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

TEST(Measure, ImplausibleCosts) {
  EXPECT_TRUE(are_plausible(usual));
  Costs costs = usual;
  costs.slot_ns = -3;
  EXPECT_FALSE(are_plausible(costs));
  costs.slot_ns = std::numeric_limits<double>::quiet_NaN();
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
  Costs costs{.flag_ns = 101.5, .line_ns = 0, .slot_ns = 33.3, .copy_ns = 12, .hands_back = false};
  ASSERT_TRUE(keep_costs(file_, costs));
  const auto found = load_costs(file_);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->flag_ns, 101.5);
  EXPECT_EQ(found->line_ns, 0);
  EXPECT_EQ(found->slot_ns, 33.3);
  EXPECT_EQ(found->copy_ns, 12);
  EXPECT_FALSE(found->hands_back);
  EXPECT_EQ(found->direct_bytes, least_direct_bytes(costs));
  // Nothing but the file itself is left.
  int files = 0;
  for ([[maybe_unused]] const auto& entry :
       std::filesystem::directory_iterator(folder_ + "/cache/tutti"))
    ++files;
  EXPECT_EQ(files, 1);
}

TEST_F(Kept, OtherTextIsNot) {
  for (const char* text :
       {"", "costs", "costs 0\nflag_ns 1\nline_ns 1\nslot_ns 1\ncopy_ns 1\nback 1\n",
        "costs 1\nflag_ns 1\nline_ns 1\nslot_ns 1\n",
        "costs 1\nflag_ns nan\nline_ns 1\nslot_ns 1\ncopy_ns 1\nback 1\n",
        "costs 1\nflag_ns 1\nline_ns 1\nslot_ns -1\ncopy_ns 1\nback 1\n"}) {
    ASSERT_TRUE(keep_costs(file_, usual));
    std::ofstream(file_) << text;
    EXPECT_FALSE(load_costs(file_).has_value()) << text;
  }
}

TEST_F(Kept, WhereNothingCanBeWritten) {
  EXPECT_FALSE(keep_costs("", usual));
  EXPECT_FALSE(keep_costs("/proc/tutti/costs", usual));
  EXPECT_FALSE(load_costs("").has_value());
}

TEST(KeptFile, IsInTheCacheFolder) {
  ::setenv("XDG_CACHE_HOME", "/somewhere", 1);
  EXPECT_TRUE(kept_file().starts_with("/somewhere/tutti/costs-"));
  ::setenv("XDG_CACHE_HOME", "relative", 1);  // to be ignored, as the specification says
  ::setenv("HOME", "/home/me", 1);
  EXPECT_TRUE(kept_file().starts_with("/home/me/.cache/tutti/costs-"));
  ::unsetenv("XDG_CACHE_HOME");
  ::unsetenv("HOME");
  EXPECT_EQ(kept_file(), "");
}

}  // namespace
}  // namespace tutti::choice
