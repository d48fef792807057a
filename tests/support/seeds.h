// SPDX-License-Identifier: BSD-3-Clause
// Which seeds a test runs: as many as it asks for, or
//   TUTTI_TEST_SCHEDULES=N   so many instead of the usual number
//   TUTTI_TEST_SEED=N        only this one, to run a failure again; with the above, the first one
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
  const auto number = [](const char* name) -> std::uint64_t {
    const char* const given = std::getenv(name);
    return given == nullptr ? 0 : std::strtoull(given, nullptr, 10);
  };
  const std::uint64_t seed = number("TUTTI_TEST_SEED"), schedules = number("TUTTI_TEST_SCHEDULES");
  if (seed != 0) return {seed, seed + (schedules != 0 ? schedules - 1 : 0)};
  if (schedules != 0) return {1, schedules};
  return {1, is_sanitized && usual >= 1000 ? usual / 10 : usual};
}

}  // namespace tutti::test
