// SPDX-License-Identifier: BSD-3-Clause
// What the stand-ins for runtimes of GPUs (gpu_*.cc) and the test (devices.cc) have in common: the
// stand-in's memory. Device memory is mapped twice: nobody may touch the addresses that the program
// has, which only the stand-in can copy from and to.
#pragma once

#include <cstddef>

enum { gpu_device = 0, gpu_managed = 1, gpu_pinned = 2 };
extern "C" {
void* gpu_allocate(std::size_t bytes, int kind);
// What is at a device address, where the host can see it.
void* gpu_shadow(void* device);
long gpu_copies();  // that the runtime was asked for
}
