// SPDX-License-Identifier: BSD-3-Clause
// A program whose large blocks no collective uses. Its argument says whether they must be pages of
// the commons' file ("commons") or private memory ("plain").
#include "check.h"

namespace {

char* use(std::size_t bytes) {
  auto* block = static_cast<char*>(std::malloc(bytes));
  CHECK(block != nullptr);
  std::memset(block, 1, bytes);
  return block;
}

}  // namespace

int main(int, char** argv) {
  constexpr std::size_t mib = std::size_t{1} << 20;
  const bool expected = std::strcmp(argv[1], "commons") == 0;
  std::free(use(48 * mib));
  char* block = use(48 * mib);
  CHECK(lies_in_commons(block) == expected);
  block = static_cast<char*>(std::realloc(block, 60 * mib));
  CHECK(block != nullptr && block[48 * mib - 1] == 1);
  CHECK(lies_in_commons(block) == expected);
  std::free(block);
  char* smaller = use(4 * mib);
  CHECK(lies_in_commons(smaller) == expected);
  std::free(smaller);
  return 0;
}
