// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cerrno>

namespace tutti::os {

// Callers of malloc and free do not expect errno to change when these succeed.
class KeepErrno {
 public:
  KeepErrno() : saved_(errno) {}
  ~KeepErrno() { errno = saved_; }
  KeepErrno(const KeepErrno&) = delete;
  KeepErrno& operator=(const KeepErrno&) = delete;

 private:
  int saved_;
};

}  // namespace tutti::os
