// SPDX-License-Identifier: BSD-3-Clause
// Small blocks alone, until `ulimit -v` ends them: what the commons has reserved is theirs, too.
#include <sys/resource.h>

#include "check.h"

int main() {
  constexpr std::size_t mib = std::size_t{1} << 20, block_bytes = 1000;
  rlimit limit{};
  CHECK(::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur == 1024 * mib);  // set by the test
  auto* large = static_cast<char*>(std::malloc(mib));
  CHECK(large != nullptr && lies_in_commons(large));
  std::size_t bytes = 0;
  while (std::malloc(block_bytes) != nullptr) bytes += block_bytes;
  // Of 1 GiB a few MiB are the libraries', and four bytes in a hundred malloc's own.
  if (bytes < 900 * mib) std::fprintf(stderr, "%zu MiB\n", bytes / mib);
  CHECK(bytes >= 900 * mib);
  return 0;
}
