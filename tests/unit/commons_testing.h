// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/options.h"
#include "commons/commons.h"
#include "support/in_child.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TUTTI_SANITIZED 1
#else
#define TUTTI_SANITIZED 0
#endif

namespace tutti::commons::testing {

inline constexpr std::size_t kib = 1024;
inline constexpr std::size_t mib = 1024 * kib;

// What others leave behind - pages, handlers, options read - is in the way of these tests: ctest
// gives each a process of its own.
class OwnProcess : public ::testing::Test {
 protected:
  void SetUp() override {
    static bool used = false;
    if (std::exchange(used, true))
      GTEST_SKIP() << "needs a process of its own: run ctest, or this test alone (--gtest_filter)";
  }
};

using test::in_child;

inline unsigned char* take(std::size_t bytes, bool zero = false) {
  return static_cast<unsigned char*>(allocate(bytes, 1, zero));
}

// A word to each page, which depends on the place and on `tag`: enough to see pages that were mixed
// up, lost or shared.
inline void write_pattern(unsigned char* block, std::size_t bytes, std::uint64_t tag) {
  for (std::size_t at = 0; at + 8 <= bytes; at += 2048) {
    const std::uint64_t word = tag * 0x9e3779b97f4a7c15u + at;
    std::memcpy(block + at, &word, 8);
  }
}
inline bool has_pattern(const unsigned char* block, std::size_t bytes, std::uint64_t tag) {
  for (std::size_t at = 0; at + 8 <= bytes; at += 2048) {
    std::uint64_t word;
    std::memcpy(&word, block + at, 8);
    if (word != tag * 0x9e3779b97f4a7c15u + at) return false;
  }
  return true;
}
inline bool all_zero(const unsigned char* block, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i)
    if (block[i] != 0) return false;
  return true;
}

// What the file of the commons really occupies.
inline std::size_t resident_bytes() {
  struct stat status {};
  if (::fstat(handle().fd, &status) != 0) return ~std::size_t{0};
  return static_cast<std::size_t>(status.st_blocks) * 512;
}

}  // namespace tutti::commons::testing
