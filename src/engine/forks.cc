// SPDX-License-Identifier: BSD-3-Clause
#include "engine/forks.h"

#include <unistd.h>

#include <atomic>

#include "commons/commons.h"
#include "engine/node.h"
#include "os/limits.h"
#include "os/mutex.h"

namespace tutti::engine {
namespace {

constinit os::Mutex g_mutex;
Node* g_node = nullptr;           // under g_mutex
std::atomic<pid_t> g_process{0};  // that agrees

class Guard {
 public:
  Guard() { g_mutex.lock(); }
  ~Guard() { g_mutex.unlock(); }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
};

bool reserve(std::uint64_t bytes) {
  const Guard guard;
  if (g_node == nullptr) return bytes < os::available_memory_bytes();
  return g_node->segment().reserve(g_node->rank(), g_node->size(), bytes,
                                   os::available_memory_bytes);
}

void release() {
  const Guard guard;
  if (g_node != nullptr) g_node->segment().release(g_node->rank());
}

constexpr commons::Reservation reservation{reserve, release};

}  // namespace

void agree_on_forks(Node& node) {
  {
    const Guard guard;
    if (g_node != nullptr) return;
    g_node = &node;
    g_process.store(::getpid(), std::memory_order_relaxed);
  }
  commons::reserve_with(reservation);
}

void disagree_on_forks(Node& node) {
  // A forked child may find the mutex locked by a thread that only its parent has.
  if (::getpid() != g_process.load(std::memory_order_relaxed)) return;
  const Guard guard;
  if (g_node != &node) return;
  node.segment().release(node.rank());  // if a thread forks, it will not find the node again
  g_node = nullptr;
}

}  // namespace tutti::engine
