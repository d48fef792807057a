// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/task.h"

#include <array>
#include <cstdlib>
#include <utility>

#include "base/bits.h"
#include "base/log.h"

namespace tutti::fabric::frames {
namespace {

// Frames of algorithms are a few hundred bytes; a class is a multiple of 128 up to 2 KiB.
constexpr std::size_t class_bytes = 128;
constexpr std::size_t classes = 16;

struct Free {
  Free* next;
};

// Another thread may release a frame than the one that asked for it. So a list has an end: else one
// thread would hoard what the other lacks.
constexpr int longest_list = 64;

struct List {
  Free* head = nullptr;
  int room = 0;  // how many more fit; none before the thread's first frame and after its end
};
constinit thread_local std::array<List, classes> lists{};

// Stands apart from the lists. So these have no constructor, and no access has to look for one.
struct Emptier {
  Emptier() {
    for (List& list : lists) list.room = longest_list;
  }
  ~Emptier() {
    for (List& list : lists) {
      while (list.head != nullptr) std::free(std::exchange(list.head, list.head->next));
      list.room = 0;
    }
  }
};

[[gnu::noinline]] void* allocate_new(std::size_t bytes) {
  static thread_local Emptier emptier;
  const std::size_t index = (bytes - 1) / class_bytes;
  void* frame = std::malloc(index < classes ? (index + 1) * class_bytes : bytes);
  if (frame == nullptr) {
    log::fatal("out of memory: %zu bytes for a collective", bytes);
    std::abort();
  }
  return frame;
}

}  // namespace

void* allocate(std::size_t bytes) {
  const std::size_t index = (bytes - 1) / class_bytes;
  if (index >= classes || lists[index].head == nullptr) [[unlikely]]
    return allocate_new(bytes);
  List& list = lists[index];
  ++list.room;
  return std::exchange(list.head, list.head->next);
}

void release(void* frame, std::size_t bytes) {
  const std::size_t index = (bytes - 1) / class_bytes;
  if (index >= classes || lists[index].room == 0) [[unlikely]]
    return std::free(frame);
  List& list = lists[index];
  --list.room;
  Free* entry = static_cast<Free*>(frame);
  entry->next = list.head;
  list.head = entry;
}

}  // namespace tutti::fabric::frames
