// SPDX-License-Identifier: BSD-3-Clause
// hwloc asks libudev for the properties of block devices, which this program never looks for.
// Answering "nothing is known" here lets the static libhwloc be linked without libudev, so that
// the program needs nothing but libc at run time.

extern "C" {
struct udev;
struct udev_device;

udev* udev_new() { return nullptr; }
udev* udev_unref(udev*) { return nullptr; }
udev_device* udev_device_new_from_subsystem_sysname(udev*, const char*, const char*) {
  return nullptr;
}
const char* udev_device_get_property_value(udev_device*, const char*) { return nullptr; }
udev_device* udev_device_unref(udev_device*) { return nullptr; }
}
