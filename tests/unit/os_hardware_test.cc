// SPDX-License-Identifier: BSD-3-Clause
#include "os/hardware.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "os/loads.h"
#include "support/folder.h"

namespace tutti::os {
namespace {

using Files = test::Folder;
TEST_F(Files, ByTheBeginningsOfTheirPaths) {
  write("/nvidia0", "");
  EXPECT_TRUE(has_file_like((path + "/nvidia").c_str()));
  EXPECT_TRUE(has_file_like((path + "/nvidia0").c_str()));
  EXPECT_FALSE(has_file_like((path + "/nvidia1").c_str()));
  EXPECT_FALSE(has_file_like((path + "/kfd").c_str()));
  EXPECT_FALSE(has_file_like((path + "/none/nvidia").c_str()));
  EXPECT_FALSE(has_file_like((path + "/nvidia0/nvidia").c_str()));
}

TEST_F(Files, MayBeThereWhereOneMayNotLook) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may look everywhere";
  ::chmod(path.c_str(), 0);
  EXPECT_TRUE(has_file_like((path + "/nvidia").c_str()));
  ::chmod(path.c_str(), 0700);
}

using PciBus = test::Folder;
TEST_F(PciBus, ByVendor) {
  write("/devices",
        "0000\t80861237\t0\t               0\n"
        "0018\t10de2330\t1f\t        fa000000\t        0\n"
        "0020\t1af41002\t20\t               0\n");
  const std::string list = path + "/devices";
  EXPECT_TRUE(has_pci_vendor(0x10de, list.c_str()));
  EXPECT_TRUE(has_pci_vendor(0x8086, list.c_str()));
  EXPECT_FALSE(has_pci_vendor(0x1002, list.c_str()));  // the number of another's device
  EXPECT_FALSE(has_pci_vendor(0x10de, (path + "/none").c_str()));
}

TEST(Loaded, ByTheBeginningOfTheFilesName) {
  EXPECT_NE(loaded_file("libc.so").find("/libc.so"), std::string::npos);
  EXPECT_TRUE(is_loaded("libc.so"));
  EXPECT_FALSE(is_loaded("ibc.so"));
  EXPECT_FALSE(is_loaded("libze_intel"));
}

}  // namespace
}  // namespace tutti::os
