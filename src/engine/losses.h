// SPDX-License-Identifier: BSD-3-Clause
// A rank that is killed, ends or calls exec leaves its memory in the windows of the others. These
// let it go: a thread that sleeps until the kernel wakes it (segment/ends.h), so that it costs
// nothing, and is there where a rank calls nothing. Only in processes that have threads anyway: in
// others the C library does without locks. There the rank looks itself, when it calls something.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "segment/ends.h"

namespace tutti::engine {

class Node;

class Losses {
 public:
  Losses(Node& node, int rank, int members);
  ~Losses();
  Losses(const Losses&) = delete;
  Losses& operator=(const Losses&) = delete;

  // Any thread, now and then; cheap.
  void look();

 private:
  void start_thread();
  void watch();
  // Lets go of what members have left that have gone. True: some are about to.
  bool settle();

  Node& node_;
  std::mutex looking_;
  segment::Ends ends_;
  std::vector<int> ending_;  // members of whom a thread has ended
  bool has_thread_ = false;  // which alone uses these two then
  pthread_t thread_{};
  std::atomic<std::uint32_t> bell_{0};  // 1: it is to end
};

}  // namespace tutti::engine
