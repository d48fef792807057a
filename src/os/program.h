// SPDX-License-Identifier: BSD-3-Clause
// What the kernel has made of the program's file. Nothing here touches the heap.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bits.h"

namespace tutti::os {

struct Pages {
  std::byte* first = nullptr;
  std::size_t bytes = 0;
};

// The pages of the main program's static variables that begin as zeros (.bss), as whole pages: the
// outer ones may hold other variables too. Empty where there are none, or where that is not known.
[[nodiscard]] Pages zeroed_statics();

// The threads of this process; 0 when that is not known.
[[nodiscard]] int thread_count();
// Whether this thread is the only one. False when that is not known.
[[nodiscard]] inline bool is_only_thread() { return thread_count() == 1; }

// One after the other the runs of pages that have been touched, of anonymous or private memory; all
// others read as zeros, or as what their file has. Asks for a descriptor while it lives.
class TouchedRuns {
 public:
  explicit TouchedRuns(const Pages& pages);
  ~TouchedRuns();
  TouchedRuns(const TouchedRuns&) = delete;
  TouchedRuns& operator=(const TouchedRuns&) = delete;

  // False: there is none left, or the kernel does not tell.
  [[nodiscard]] bool next(Pages* run);
  [[nodiscard]] bool has_failed() const { return has_failed_; }

 private:
  [[nodiscard]] bool is_touched(std::size_t page);

  Pages all_;
  std::size_t at_ = 0;  // pages
  int pagemap_ = -1;
  bool has_failed_ = false;
  std::size_t read_first_ = 0;  // the pages whose entries were read last
  std::size_t read_pages_ = 0;
  std::uint64_t entries_[512] = {};
};

// Whether the page of private memory at `address` is part of a huge one (Linux 6.7; before, no).
[[nodiscard]] bool is_huge_page(const void* address);

// Whether pages of this process are locked into memory, or pinned for a device, as far as the
// kernel counts that; true when that is not known.
[[nodiscard]] bool has_pinned_memory();

}  // namespace tutti::os
