// SPDX-License-Identifier: BSD-3-Clause
// Whether there can be a device for a runtime, on machines that are folders.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "mpi/devices_runtimes.h"

namespace tutti::mpi::devices {
namespace {

class Machine : public ::testing::Test {
 public:
  Machine() {
    EXPECT_NE(::mkdtemp(root.data()), nullptr);
    make("/proc/bus/pci/devices", "0000\t80861237\t0\n0018\t1af41000\t1f\n");
    make("/dev/null");
    make("/dev/nvme0");
  }
  ~Machine() override { (void)std::system(("rm -r " + root).c_str()); }

  void make(const std::string& path, const char* text = "") {
    const std::string folder = root + path.substr(0, path.rfind('/'));
    ASSERT_EQ(std::system(("mkdir -p " + folder).c_str()), 0);
    std::FILE* file = std::fopen((root + path).c_str(), "w");
    ASSERT_NE(file, nullptr);
    std::fputs(text, file);
    std::fclose(file);
  }
  std::string root = "/tmp/tutti-machine-XXXXXX";
};

using Devices = Machine;
TEST_F(Devices, NoneOnAMachineWithout) {
  EXPECT_FALSE(Cuda::may_serve(root));
  EXPECT_FALSE(Hip::may_serve(root));
}

TEST_F(Devices, OfNvidiaOnTheBus) {  // its driver may not have been used yet
  make("/proc/bus/pci/devices", "0000\t80861237\t0\n0100\t10de2330\t1f\tfa000000\n");
  EXPECT_TRUE(Cuda::may_serve(root));
  EXPECT_FALSE(Hip::may_serve(root));
}

TEST_F(Devices, OfAmdOnTheBus) {
  make("/proc/bus/pci/devices", "0000\t10221480\t0\n0300\t1002740f\t0\n");
  EXPECT_FALSE(Cuda::may_serve(root));
  EXPECT_TRUE(Hip::may_serve(root));
}

TEST_F(Devices, ByTheDriversFiles) {
  for (const char* file : {"/dev/nvidiactl", "/dev/nvidia0", "/proc/driver/nvidia/version",
                           "/dev/nvhost-ctrl-gpu", "/dev/nvmap", "/dev/nvgpu/igpu0"}) {
    make(file);
    EXPECT_TRUE(Cuda::may_serve(root)) << file;
    EXPECT_FALSE(Hip::may_serve(root)) << file;
    std::remove((root + file).c_str());
    (void)std::system(("rm -rf " + root + "/proc/driver " + root + "/dev/nvgpu").c_str());
    EXPECT_FALSE(Cuda::may_serve(root)) << file;
  }
  make("/dev/kfd");
  EXPECT_TRUE(Hip::may_serve(root));
  EXPECT_FALSE(Cuda::may_serve(root));
}

TEST_F(Devices, OfWindows) {
  make("/dev/dxg");
  EXPECT_TRUE(Cuda::may_serve(root));
  EXPECT_TRUE(Hip::may_serve(root));
}

TEST(LevelZeroDevices, WhereADriverIsLoadedOrNamed) {
  EXPECT_FALSE(LevelZero::may_serve());
  ::setenv("ZE_ENABLE_ALT_DRIVERS", "libother.so", 1);
  EXPECT_TRUE(LevelZero::may_serve());
  ::unsetenv("ZE_ENABLE_ALT_DRIVERS");
}

}  // namespace
}  // namespace tutti::mpi::devices
