// SPDX-License-Identifier: BSD-3-Clause
// Whether there can be a device for a runtime, on machines that are folders.
#include <gtest/gtest.h>

#include <cstdlib>

#include "mpi/devices_runtimes.h"
#include "support/folder.h"

namespace tutti::mpi::devices {
namespace {

class Devices : public test::Folder {
 public:
  Devices() {
    write("/proc/bus/pci/devices", "0000\t80861237\t0\n0018\t1af41000\t1f\n");
    write("/dev/null");
    write("/dev/nvme0");
  }
};

TEST_F(Devices, NoneOnAMachineWithout) {
  EXPECT_FALSE(Cuda::may_serve(path));
  EXPECT_FALSE(Hip::may_serve(path));
}

TEST_F(Devices, OfNvidiaOnTheBus) {  // its driver may not have been used yet
  write("/proc/bus/pci/devices", "0000\t80861237\t0\n0100\t10de2330\t1f\tfa000000\n");
  EXPECT_TRUE(Cuda::may_serve(path));
  EXPECT_FALSE(Hip::may_serve(path));
}

TEST_F(Devices, OfAmdOnTheBus) {
  write("/proc/bus/pci/devices", "0000\t10221480\t0\n0300\t1002740f\t0\n");
  EXPECT_FALSE(Cuda::may_serve(path));
  EXPECT_TRUE(Hip::may_serve(path));
}

TEST_F(Devices, ByTheDriversFiles) {
  for (const char* file : {"/dev/nvidiactl", "/dev/nvidia0", "/proc/driver/nvidia/version",
                           "/dev/nvhost-ctrl-gpu", "/dev/nvmap", "/dev/nvgpu/igpu0"}) {
    write(file);
    EXPECT_TRUE(Cuda::may_serve(path)) << file;
    EXPECT_FALSE(Hip::may_serve(path)) << file;
    for (const char* all : {file, "/proc/driver", "/dev/nvgpu"}) remove(all);
    EXPECT_FALSE(Cuda::may_serve(path)) << file;
  }
  write("/dev/kfd");
  EXPECT_TRUE(Hip::may_serve(path));
  EXPECT_FALSE(Cuda::may_serve(path));
}

TEST_F(Devices, OfWindows) {
  write("/dev/dxg");
  EXPECT_TRUE(Cuda::may_serve(path));
  EXPECT_TRUE(Hip::may_serve(path));
}

TEST(LevelZeroDevices, WhereADriverIsLoadedOrNamed) {
  EXPECT_FALSE(LevelZero::may_serve());
  ::setenv("ZE_ENABLE_ALT_DRIVERS", "libother.so", 1);
  EXPECT_TRUE(LevelZero::may_serve());
  ::unsetenv("ZE_ENABLE_ALT_DRIVERS");
}

}  // namespace
}  // namespace tutti::mpi::devices
