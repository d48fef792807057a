// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/devices.h"

#include <dlfcn.h>

#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>

#include "base/base.h"
#include "commons/commons.h"
#include "mpi/devices_runtimes.h"

namespace tutti::mpi::devices {
namespace {

std::mutex g_looking;
std::atomic<Cuda*> g_cuda{nullptr};
std::atomic<Hip*> g_hip{nullptr};
std::atomic<LevelZero*> g_level_zero{nullptr};
std::atomic<bool> g_expected{false}, g_copied{false};

// TUTTI_GPUS.
template <class Runtime>
bool counts() {
  const std::string_view wish = options().gpus;
  return wish == "auto" ? Runtime::may_serve() : wish == "1";
}

// What it has found stays loaded.
template <class Runtime>
void find(std::atomic<Runtime*>& found) {
  if (found != nullptr) return;
  const std::string file = os::loaded_file(Runtime::file);
  if (file.empty() || !counts<Runtime>()) return;
  void* const library = ::dlopen(file.c_str(), RTLD_NOLOAD | RTLD_LAZY);
  if (library == nullptr) return;
  auto* const runtime = new Runtime;
  if (runtime->load(library))
    found.store(runtime, std::memory_order_release);
  else
    delete runtime;
}

bool is_any_present() {
  return g_expected.load(std::memory_order_relaxed) ||
         g_cuda.load(std::memory_order_acquire) != nullptr ||
         g_hip.load(std::memory_order_acquire) != nullptr ||
         g_level_zero.load(std::memory_order_acquire) != nullptr;
}

// Calls body(runtime) for those that are present until one returns true.
template <class Body>
bool any(Body body) {
  Cuda* const cuda = g_cuda.load(std::memory_order_acquire);
  Hip* const hip = g_hip.load(std::memory_order_acquire);
  LevelZero* const level_zero = g_level_zero.load(std::memory_order_acquire);
  return (cuda != nullptr && body(*cuda)) || (hip != nullptr && body(*hip)) ||
         (level_zero != nullptr && body(*level_zero));
}

void copy(void* to, const void* from, const void* device, std::size_t bytes) {
  g_copied.store(true, std::memory_order_relaxed);
  if (any([=](auto& runtime) {
        return runtime.owns(device) && runtime.copy(to, from, device, bytes);
      }))
    return;
  log::fatal("%zu bytes could not be copied between the host and a device's memory", bytes);
  std::abort();
}

}  // namespace

void expect() {
  const std::lock_guard lock(g_looking);
  g_expected.store(true, std::memory_order_relaxed);
  commons::let_pages_stay();
  g_found.store(Found::some, std::memory_order_relaxed);
}

Found look() {
  static std::uint64_t seen = 0;  // loads, where only the loader tells
  const std::lock_guard lock(g_looking);
  // Nobody is to believe what was found before the loads that are forgotten here.
  g_found.store(Found::unknown, std::memory_order_relaxed);
  const std::uint64_t now = os::expect_loads() ? 0 : os::count_loads();
  if (now == 0 || now != seen) {
    // A load that another thread is in the midst of is waited for.
    if (void* const self = ::dlopen(nullptr, RTLD_NOLOAD | RTLD_LAZY)) ::dlclose(self);
    find(g_cuda);
    find(g_hip);
    find(g_level_zero);
    seen = now;
  }
  const Found found = is_any_present() ? Found::some : Found::none;
  if (found == Found::some) commons::let_pages_stay();
  g_found.store(found, std::memory_order_relaxed);
  return found;
}

bool owns(const void* address) {
  if (address == nullptr || commons::owns(address)) return false;
  return any([address](auto& runtime) { return runtime.owns(address); });
}

void copy_to_host(void* host, const void* device, std::size_t bytes) {
  copy(host, device, device, bytes);
}
void copy_to_device(void* device, const void* host, std::size_t bytes) {
  copy(device, host, device, bytes);
}
bool copied() { return g_copied.load(std::memory_order_relaxed); }

}  // namespace tutti::mpi::devices
