// SPDX-License-Identifier: BSD-3-Clause
// What hardware the machine has, as far as the kernel's files tell.
#pragma once

#include <cstdint>

namespace tutti::os {

// Whether a file's path begins so, as "/dev/nvidia". True also where one may not look.
[[nodiscard]] bool has_file_like(const char* beginning);

// Whether there is a device of that vendor on the PCI bus. `list` is in the form of
// /proc/bus/pci/devices: a line a device, whose second word is its vendor and number, 8 digits.
// False where there is no such list, true where one may not read it.
[[nodiscard]] bool has_pci_vendor(std::uint32_t vendor, const char* list);

}  // namespace tutti::os
