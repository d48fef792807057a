// SPDX-License-Identifier: BSD-3-Clause
// A library that has a thread before main begins and before Tutti's own constructors, as OpenBLAS
// does.
#include <atomic>
#include <thread>

namespace {

struct EarlyThread {
  EarlyThread()
      : thread([this] {
          while (!done.load()) std::this_thread::yield();
        }) {}
  ~EarlyThread() {
    done = true;
    thread.join();
  }
  std::atomic<bool> done{false};
  std::thread thread;
} g_early_thread;

}  // namespace
