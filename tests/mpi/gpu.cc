// SPDX-License-Identifier: BSD-3-Clause
// Stand-ins for the runtimes of GPUs, chosen by a macro when this is compiled: GPU_CUDA is the
// driver (libcuda.so.1), GPU_HIP5 and GPU_HIP6 ROCm's libamdhip64.so, GPU_ZE Level Zero's loader.
// They have what a program that is given their memory may ask, with the vendors' types and numbers.
#include "gpu.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

struct Allocation {
  char *device, *shadow;
  std::size_t bytes;
  int kind;
};
Allocation g_allocations[64];
int g_count = 0;
std::atomic<long> g_copies{0};

const Allocation* find(const void* address) {
  const auto* at = static_cast<const char*>(address);
  for (int i = 0; i < g_count; ++i)
    if (at >= g_allocations[i].device && at < g_allocations[i].device + g_allocations[i].bytes)
      return &g_allocations[i];
  return nullptr;
}

// A copy in which one side may be a device's.
[[maybe_unused]] int copy(void* to, const void* from, std::size_t bytes) {
  ++g_copies;
  const Allocation *a = find(to), *b = find(from);
  if (a != nullptr) to = a->shadow + (static_cast<char*>(to) - a->device);
  if (b != nullptr) from = b->shadow + (static_cast<const char*>(from) - b->device);
  std::memcpy(to, from, bytes);
  return 0;
}

}  // namespace

extern "C" void* gpu_allocate(std::size_t bytes, int kind) {
  bytes = (bytes + 4095) / 4096 * 4096;
  const int file = memfd_create("gpu", 0);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0 || g_count == 64) std::abort();
  const int access = kind == gpu_device ? PROT_NONE : PROT_READ | PROT_WRITE;
  void* device = mmap(nullptr, bytes, access, MAP_SHARED, file, 0);
  void* shadow = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  g_allocations[g_count++] = {static_cast<char*>(device), static_cast<char*>(shadow), bytes, kind};
  return device;
}
extern "C" void* gpu_shadow(void* device) {
  const Allocation* found = find(device);
  return found == nullptr ? device : found->shadow + (static_cast<char*>(device) - found->device);
}
extern "C" long gpu_copies() { return g_copies; }

#if defined GPU_CUDA
static void* g_current = nullptr;
extern "C" int cuPointerGetAttributes(unsigned count, int* attributes, void** values,
                                      std::uintptr_t address) {
  const Allocation* found = find(reinterpret_cast<void*>(address));
  for (unsigned i = 0; i < count; ++i) {
    if (attributes[i] == 1)
      *static_cast<void**>(values[i]) = found != nullptr ? &g_current : nullptr;
    if (attributes[i] == 2)
      *static_cast<unsigned*>(values[i]) = found == nullptr            ? 0u
                                           : found->kind == gpu_pinned ? 1u
                                                                       : 2u;
    if (attributes[i] == 8)
      *static_cast<unsigned*>(values[i]) = found != nullptr && found->kind == gpu_managed;
  }
  return 0;
}
extern "C" int cuCtxPushCurrent_v2(void* context) {
  g_current = context;
  return context == nullptr ? 201 : 0;
}
extern "C" int cuCtxPopCurrent_v2(void** context) {
  *context = g_current;
  g_current = nullptr;
  return 0;
}
extern "C" int cuMemcpy(std::uintptr_t to, std::uintptr_t from, std::size_t bytes) {
  if (g_current == nullptr) return 201;  // CUDA_ERROR_INVALID_CONTEXT
  return copy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
}
extern "C" int cuStreamSynchronize(void*) { return g_current == nullptr ? 201 : 0; }
#endif

#if defined GPU_HIP5 || defined GPU_HIP6
struct Attributes {
  int type, device;
  void *on_device, *on_host;
  int is_managed;
  unsigned flags;
};
#ifdef GPU_HIP6
extern "C" int hipGetDevicePropertiesR0600(void*, int) { return 0; }
static const int g_types[] = {2, 3, 1};  // of device, managed and pinned memory
#else
static const int g_types[] = {1, 1, 0};
#endif
extern "C" int hipPointerGetAttributes(Attributes* attributes, const void* address) {
  const Allocation* found = find(address);
#ifndef GPU_HIP6
  if (found == nullptr) return 1;  // hipErrorInvalidValue
#endif
  *attributes = {};
  if (found == nullptr) return 0;  // not registered
  attributes->type = g_types[found->kind];
  attributes->is_managed = found->kind == gpu_managed;
  return 0;
}
extern "C" int hipMemcpy(void* to, const void* from, std::size_t bytes, int kind) {
  return kind != 4 ? 1 : copy(to, from, bytes);
}
extern "C" int hipStreamSynchronize(void*) { return 0; }
#endif

#ifdef GPU_ZE
struct Description {
  int kind;
  const void* next;
};
struct Properties {
  int kind;
  void* next;
  int type;
  std::uint64_t id, page_bytes;
};
struct Queue {
  int kind;
  const void* next;
  std::uint32_t ordinal, index, flags;
  int mode, priority;
};
static int g_driver, g_context, g_the_device, g_list;
extern "C" int zeDriverGet(std::uint32_t* count, void** drivers) {
  if (drivers != nullptr && *count > 0) drivers[0] = &g_driver;
  *count = 1;
  return 0;
}
extern "C" int zeContextCreate(void* driver, const Description* description, void** context) {
  if (driver != &g_driver || description->kind != 0xd) return 0x78000004;
  *context = &g_context;
  return 0;
}
extern "C" int zeMemGetAllocProperties(void* context, const void* address, Properties* properties,
                                       void** device) {
  if (context != &g_context || properties->kind != 0x17) return 0x78000004;
  const Allocation* found = find(address);
  static const int types[] = {2, 3, 1};
  properties->type = found == nullptr ? 0 : types[found->kind];
  *device = found != nullptr && found->kind == gpu_device ? &g_the_device : nullptr;
  return 0;
}
extern "C" int zeCommandListCreateImmediate(void* context, void* device, const Queue* queue,
                                            void** list) {
  if (context != &g_context || device != &g_the_device || queue->kind != 0xe || queue->mode != 1)
    return 0x78000004;
  *list = &g_list;
  return 0;
}
extern "C" int zeCommandListAppendMemoryCopy(void* list, void* to, const void* from,
                                             std::size_t bytes, void*, std::uint32_t, void**) {
  return list != &g_list ? 0x78000004 : copy(to, from, bytes);
}
extern "C" int zeCommandListDestroy(void* list) { return list != &g_list ? 0x78000004 : 0; }
#endif
