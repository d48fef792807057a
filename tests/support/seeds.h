// SPDX-License-Identifier: BSD-3-Clause
// Which seeds a test runs: as many as it asks for, or
//   TUTTI_TEST_SEED=N        only this one, to run a failure again
//   TUTTI_TEST_SCHEDULES=N   so many instead of the usual number
#pragma once

#include <cstdint>
#include <cstdlib>

namespace tutti::test {

struct Seeds {
  std::uint64_t first, last;
};

inline Seeds seeds(std::uint64_t usual) {
  if (const char* one = std::getenv("TUTTI_TEST_SEED")) {
    const std::uint64_t seed = std::strtoull(one, nullptr, 10);
    return {seed, seed};
  }
  const char* number = std::getenv("TUTTI_TEST_SCHEDULES");
  return {1, number != nullptr ? std::strtoull(number, nullptr, 10) : usual};
}

}  // namespace tutti::test
