// SPDX-License-Identifier: BSD-3-Clause
// What Tutti calls of the runtimes of GPUs, as far as their headers are needed for it. Each has:
// load(), false if the library lacks a function; owns(), whether an address is a device's; and
// copy(), in which `device` is the one address of both that is. And may_serve(): whether there can
// be a device for it. MPIs are linked with runtimes where there is none, and with a device each
// call costs more. The runtimes themselves are not asked: the first call of one takes long.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <mutex>
#include <string>
#include <vector>

#include "os/hardware.h"
#include "os/loads.h"

namespace tutti::mpi::devices {

template <class Function>
bool find(Function*& function, void* library, const char* name) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  return function != nullptr;
}

// Whether there is a device of that vendor on the bus, or a file whose path begins as one of these.
inline bool has_hardware(const std::string& root, std::uint32_t vendor,
                         std::initializer_list<const char*> files) {
  return os::has_pci_vendor(vendor, (root + "/proc/bus/pci/devices").c_str()) ||
         std::ranges::any_of(
             files, [&root](const char* file) { return os::has_file_like((root + file).c_str()); });
}

// The driver, which is there wherever CUDA is.
class Cuda {
 public:
  static constexpr const char* file = "libcuda.so";
  // The driver's files come when it is first used, so the bus is looked at, too. nvhost, nvmap and
  // nvgpu are Tegra's files, dxg is that of Windows's Linux. `root`: of a machine that tests make.
  [[nodiscard]] static bool may_serve(const std::string& root = "") {
    return has_hardware(root, 0x10de,
                        {"/dev/nvidia", "/proc/driver/nvidia", "/dev/nvhost", "/dev/nvmap",
                         "/dev/nvgpu", "/dev/dxg"});
  }
  bool load(void* library) {
    return find(pointer_get_attributes_, library, "cuPointerGetAttributes") &&
           find(context_push_, library, "cuCtxPushCurrent_v2") &&
           find(context_pop_, library, "cuCtxPopCurrent_v2") &&
           find(memcpy_, library, "cuMemcpy") &&
           find(stream_synchronize_, library, "cuStreamSynchronize");
  }
  [[nodiscard]] bool owns(const void* address) const { return look_at(address).on_device; }
  bool copy(void* to, const void* from, const void* device, std::size_t bytes) const {
    void* const context = look_at(device).context;
    if (context != nullptr && context_push_(context) != 0) return false;
    const bool copied = memcpy_(reinterpret_cast<std::uintptr_t>(to),
                                reinterpret_cast<std::uintptr_t>(from), bytes) == 0 &&
                        stream_synchronize_(nullptr) == 0;
    void* popped = nullptr;
    if (context != nullptr) context_pop_(&popped);
    return copied;
  }

 private:
  struct Memory {
    bool on_device;
    void* context;
  };
  // All attributes are 0 for memory that the driver does not know.
  [[nodiscard]] Memory look_at(const void* address) const {
    enum : int { context_attribute = 1, memory_type = 2, is_managed = 8 };
    constexpr std::uint64_t on_device = 2;
    int attributes[] = {context_attribute, memory_type, is_managed};
    void* context = nullptr;
    std::uint64_t type = 0, managed = 0;  // what is written is 4 bytes, or 1
    void* values[] = {&context, &type, &managed};
    if (pointer_get_attributes_(3, attributes, values, reinterpret_cast<std::uintptr_t>(address)) !=
        0)
      return {};
    return {type == on_device && managed == 0, context};
  }

  int (*pointer_get_attributes_)(unsigned count, int* attributes, void** values,
                                 std::uintptr_t address);
  int (*context_push_)(void* context);
  int (*context_pop_)(void** context);
  int (*memcpy_)(std::uintptr_t to, std::uintptr_t from, std::size_t bytes);
  int (*stream_synchronize_)(void* stream);
};

class Hip {
 public:
  static constexpr const char* file = "libamdhip64.so";
  [[nodiscard]] static bool may_serve(const std::string& root = "") {
    return has_hardware(root, 0x1002, {"/dev/kfd", "/dev/dxg"});
  }
  bool load(void* library) {
    // ROCm 6 counts the types of memory anew.
    device_type_ = ::dlsym(library, "hipGetDevicePropertiesR0600") != nullptr ? 2 : 1;
    return find(pointer_get_attributes_, library, "hipPointerGetAttributes") &&
           find(memcpy_, library, "hipMemcpy") &&
           find(stream_synchronize_, library, "hipStreamSynchronize");
  }
  [[nodiscard]] bool owns(const void* address) const {
    Attributes attributes{};
    return pointer_get_attributes_(&attributes, address) == 0 && attributes.type == device_type_ &&
           attributes.is_managed == 0;
  }
  bool copy(void* to, const void* from, const void*, std::size_t bytes) const {
    constexpr int by_addresses = 4;
    return memcpy_(to, from, bytes, by_addresses) == 0 && stream_synchronize_(nullptr) == 0;
  }

 private:
  struct Attributes {
    int type;
    int device;
    void *on_device, *on_host;
    int is_managed;
    unsigned flags;
    std::uint64_t room[8];  // for what later versions add
  };
  int device_type_ = 0;
  int (*pointer_get_attributes_)(Attributes*, const void* address);
  int (*memcpy_)(void* to, const void* from, std::size_t bytes, int kind);
  int (*stream_synchronize_)(void* stream);
};

// Allocations are asked for with a context; any of the driver's will do.
class LevelZero {
 public:
  static constexpr const char* file = "libze_loader.so";
  // The loader loads a driver of Intel's for each kind of device when the program initialises it,
  // or those that this variable names. Until then no memory is a device's.
  [[nodiscard]] static bool may_serve() {
    return std::getenv("ZE_ENABLE_ALT_DRIVERS") != nullptr || os::is_loaded("libze_intel");
  }
  bool load(void* library) {
    return find(driver_get_, library, "zeDriverGet") &&
           find(context_create_, library, "zeContextCreate") &&
           find(get_properties_, library, "zeMemGetAllocProperties") &&
           find(list_create_, library, "zeCommandListCreateImmediate") &&
           find(append_copy_, library, "zeCommandListAppendMemoryCopy") &&
           find(list_destroy_, library, "zeCommandListDestroy");
  }
  [[nodiscard]] bool owns(const void* address) { return look_at(address).context != nullptr; }
  bool copy(void* to, const void* from, const void* device, std::size_t bytes) {
    const Place place = look_at(device);
    const QueueDescription description;
    void* list = nullptr;
    if (place.context == nullptr ||
        list_create_(place.context, place.device, &description, &list) != 0)
      return false;
    const bool copied = append_copy_(list, to, from, bytes, nullptr, 0, nullptr) == 0;
    list_destroy_(list);
    return copied;
  }

 private:
  struct Properties {
    int kind = 0x17;
    void* next = nullptr;
    int type = 0;
    std::uint64_t id = 0, page_bytes = 0;
  };
  struct ContextDescription {
    int kind = 0xd;
    const void* next = nullptr;
    std::uint32_t flags = 0;
  };
  struct QueueDescription {
    int kind = 0xe;
    const void* next = nullptr;
    std::uint32_t ordinal = 0, index = 0, flags = 0;
    int mode = 1;  // a copy is over when it was appended
    int priority = 0;
  };
  struct Place {
    void *context, *device;
  };
  [[nodiscard]] Place look_at(const void* address) {
    constexpr int on_device = 2;
    for (void* context : contexts()) {
      Properties properties;
      void* device = nullptr;
      if (get_properties_(context, address, &properties, &device) == 0 &&
          properties.type == on_device)
        return {context, device};
    }
    return {};
  }
  // One for each driver, once the program has initialised them.
  const std::vector<void*>& contexts() {
    const std::lock_guard lock(mutex_);
    std::uint32_t count = 0;
    if (!contexts_.empty() || driver_get_(&count, nullptr) != 0 || count == 0) return contexts_;
    std::vector<void*> drivers(count);
    if (driver_get_(&count, drivers.data()) != 0) return contexts_;
    for (void* driver : drivers) {
      const ContextDescription description;
      void* context = nullptr;
      if (context_create_(driver, &description, &context) == 0) contexts_.push_back(context);
    }
    return contexts_;
  }

  std::mutex mutex_;
  std::vector<void*> contexts_;
  int (*driver_get_)(std::uint32_t* count, void** drivers);
  int (*context_create_)(void* driver, const ContextDescription*, void** context);
  int (*get_properties_)(void* context, const void* address, Properties*, void** device);
  int (*list_create_)(void* context, void* device, const QueueDescription*, void** list);
  int (*append_copy_)(void* list, void* to, const void* from, std::size_t bytes, void* signal,
                      std::uint32_t waits, void** wait_for);
  int (*list_destroy_)(void* list);
};

}  // namespace tutti::mpi::devices
