// SPDX-License-Identifier: BSD-3-Clause
// Blocks that grow to what the commons serves keep their contents, whatever allocator is behind.
#include <cstdlib>
#include <cstring>

#include "check.h"

int main() {
  constexpr std::size_t small = 1000, large = 300'000;
  for (int round = 0; round < 100; ++round) {
    auto* block = static_cast<char*>(std::malloc(small));
    CHECK(block != nullptr);
    std::memset(block, 'a' + round % 26, small);
    block = static_cast<char*>(std::realloc(block, large));
    CHECK(block != nullptr);
    for (std::size_t i = 0; i < small; ++i) CHECK(block[i] == 'a' + round % 26);
    std::free(block);
  }
  return 0;
}
