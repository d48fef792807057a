// SPDX-License-Identifier: BSD-3-Clause
// A folder that goes with its test, for files that stand for those of a machine.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace tutti::test {

class Folder : public ::testing::Test {
 public:
  Folder() { EXPECT_NE(::mkdtemp(path.data()), nullptr); }
  ~Folder() override { std::filesystem::remove_all(path); }

  // `file` begins with a slash.
  void write(const std::string& file, const char* text = "") const {
    std::filesystem::create_directories(std::filesystem::path(path + file).parent_path());
    std::ofstream(path + file) << text;
    ASSERT_TRUE(std::filesystem::exists(path + file));
  }
  void remove(const std::string& file) const { std::filesystem::remove_all(path + file); }

  std::string path = "/tmp/tutti-test-XXXXXX";
};

}  // namespace tutti::test
