// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "arch/arch.h"

namespace tutti::progress {

// As long as it lives, this thread rounds as arch::float_control() said of another one, or of this
// one before. 0: as it does anyway.
class Rounding {
 public:
  explicit Rounding(std::uint64_t control) {
    if (control == 0) return;
    const std::uint64_t own = arch::float_control();
    if (own == control) [[likely]]
      return;
    before_ = own;
    arch::set_float_control(control);
  }
  ~Rounding() {
    if (before_ != 0) [[unlikely]]
      arch::set_float_control(before_);
  }
  Rounding(const Rounding&) = delete;
  Rounding& operator=(const Rounding&) = delete;

 private:
  std::uint64_t before_ = 0;
};

}  // namespace tutti::progress
