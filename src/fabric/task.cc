// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/task.h"

#include <array>

#include "base/bits.h"

namespace tutti::fabric::frames {
namespace {

// Frames of algorithms are a few hundred bytes; a class is a multiple of 128 up to 2 KiB.
constexpr std::size_t class_bytes = 128;
constexpr std::size_t classes = 16;

struct Free {
  Free* next;
};

// A frame may be released by another thread than the one that asked for it: so that the one does
// not hoard what the other lacks, a list has an end.
constexpr std::size_t longest_list = 64;

struct Lists {
  std::array<Free*, classes> heads{};
  std::array<std::size_t, classes> lengths{};
  ~Lists() {
    for (Free* head : heads)
      while (head != nullptr) std::free(std::exchange(head, head->next));
    heads = {};
  }
};
thread_local Lists lists;

}  // namespace

void* allocate(std::size_t bytes) {
  const std::size_t index = (bytes - 1) / class_bytes;
  if (index < classes) {
    if (Free* head = lists.heads[index]) {
      lists.heads[index] = head->next;
      --lists.lengths[index];
      return head;
    }
    bytes = (index + 1) * class_bytes;
  }
  void* frame = std::malloc(bytes);
  if (frame == nullptr) std::abort();
  return frame;
}

void release(void* frame, std::size_t bytes) {
  const std::size_t index = (bytes - 1) / class_bytes;
  if (index >= classes || lists.lengths[index] == longest_list) return std::free(frame);
  Free* entry = static_cast<Free*>(frame);
  entry->next = lists.heads[index];
  lists.heads[index] = entry;
  ++lists.lengths[index];
}

}  // namespace tutti::fabric::frames
