// SPDX-License-Identifier: BSD-3-Clause
// Where the cores without a rank are, when they are spread evenly: the last of each of `free` equal
// stretches of the cores (Denis et al. 2019, section 4). With 64 cores and two free ones: 31, 63.
#pragma once

namespace tutti::progress {

constexpr int free_core(int cores, int free, int number) {
  return (cores * (number + 1) + free - 1) / free - 1;
}

}  // namespace tutti::progress
