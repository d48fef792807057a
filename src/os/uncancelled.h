// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <pthread.h>

namespace tutti::os {

// What opens, reads and closes is a cancellation point; malloc, free and fork, which the caller has
// called, are none.
class Uncancelled {
 public:
  Uncancelled() { ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~Uncancelled() { ::pthread_setcancelstate(before_, nullptr); }
  Uncancelled(const Uncancelled&) = delete;
  Uncancelled& operator=(const Uncancelled&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace tutti::os
