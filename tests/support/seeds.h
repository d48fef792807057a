// SPDX-License-Identifier: BSD-3-Clause
// Which seeds a test runs: as many as it asks for, or
//   TUTTI_TEST_SEED=N        only this one, to run a failure again
//   TUTTI_TEST_SCHEDULES=N   so many instead of the usual number
// Under a sanitizer thousands would take hours: a tenth has to do.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace tutti::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool is_sanitized = true;
#else
inline constexpr bool is_sanitized = false;
#endif

struct Seeds {
  std::uint64_t first, last;
};

inline Seeds seeds(std::uint64_t usual) {
  if (const char* one = std::getenv("TUTTI_TEST_SEED")) {
    const std::uint64_t seed = std::strtoull(one, nullptr, 10);
    return {seed, seed};
  }
  if (const char* number = std::getenv("TUTTI_TEST_SCHEDULES"))
    return {1, std::strtoull(number, nullptr, 10)};
  return {1, is_sanitized && usual >= 1000 ? usual / 10 : usual};
}

}  // namespace tutti::test
