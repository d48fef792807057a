// SPDX-License-Identifier: BSD-3-Clause
// Operations and datatypes that a nonblocking reduction needs to its end: its function is called
// with these very handles. What the program frees meanwhile is freed when nothing needs it.
#pragma once

#include <algorithm>
#include <mutex>
#include <vector>

namespace tutti::mpi {

template <class H>
class Kept {
 public:
  void keep(H handle) {
    const std::lock_guard lock(mutex_);
    if (Entry* entry = find(handle))
      ++entry->users;
    else
      entries_.push_back({handle, 1, false});
  }
  // The program frees it. False: nothing needs it, so it may.
  [[nodiscard]] bool free_later(H handle) {
    const std::lock_guard lock(mutex_);
    Entry* const entry = find(handle);
    if (entry == nullptr) return false;
    entry->freed = true;
    return true;
  }
  // True: the last that needed it has gone, and it is to be freed.
  [[nodiscard]] bool let_go(H handle) {
    const std::lock_guard lock(mutex_);
    Entry* const entry = find(handle);
    if (entry == nullptr || --entry->users > 0) return false;
    const bool freed = entry->freed;
    *entry = entries_.back();
    entries_.pop_back();
    return freed;
  }

 private:
  struct Entry {
    H handle;
    int users;
    bool freed;
  };
  [[nodiscard]] Entry* find(H handle) {
    const auto at = std::find_if(entries_.begin(), entries_.end(),
                                 [&](const Entry& each) { return each.handle == handle; });
    return at == entries_.end() ? nullptr : &*at;
  }

  std::mutex mutex_;
  std::vector<Entry> entries_;  // of what is under way
};

}  // namespace tutti::mpi
