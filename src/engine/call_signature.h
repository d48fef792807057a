// SPDX-License-Identifier: BSD-3-Clause
// What a member says it is calling: 64 bits that ride in every line it posts. A member that reads
// them notices at once when it is not in the same call.
#pragma once

#include <cstdint>

#include "base/collective.h"

namespace tutti::engine {

struct CallSignature {
  Collective collective;
  int root = 0;
  int op = 0;  // as Work::op
  std::uint64_t bytes = 0;

  [[nodiscard]] constexpr std::uint64_t encode() const {
    return std::uint64_t{1} << 63 | static_cast<std::uint64_t>(collective) << 58 |
           static_cast<std::uint64_t>(root & 0xfff) << 46 |
           static_cast<std::uint64_t>(op & 0xf) << 42 | (bytes & bytes_mask);
  }
  static constexpr CallSignature decode(std::uint64_t word) {
    return {static_cast<Collective>(word >> 58 & 0x1f), static_cast<int>(word >> 46 & 0xfff),
            static_cast<int>(word >> 42 & 0xf), word & bytes_mask};
  }

 private:
  static constexpr std::uint64_t bytes_mask = (std::uint64_t{1} << 42) - 1;
};

}  // namespace tutti::engine
