// SPDX-License-Identifier: BSD-3-Clause
// A core dump has the blocks of the process that dumps it, and nothing of its peers.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "commons_testing.h"
#include "os/window.h"

namespace tutti::commons {
namespace {

using namespace testing;

constexpr std::uint64_t mine = 11, theirs = 12;  // tags of patterns

// Dumps may also go to a program, or elsewhere, or be cut short.
bool dumps_here() {
  std::ifstream file("/proc/sys/kernel/core_pattern");
  std::string pattern;
  std::getline(file, pattern);
  rlimit most{};
  return pattern.starts_with("core") && pattern.find('/') == std::string::npos &&
         ::getrlimit(RLIMIT_CORE, &most) == 0 && most.rlim_max == RLIM_INFINITY;
}

// Where a word of that pattern is that is nowhere else: it is made of the place, too.
std::size_t find(const std::string& dump, std::uint64_t tag, std::size_t place) {
  const std::uint64_t word = tag * 0x9e3779b97f4a7c15u + place;
  return dump.find(std::string(reinterpret_cast<const char*>(&word), sizeof word));
}

class CommonsCore : public OwnProcess, public ::testing::WithParamInterface<const char*> {};

TEST_P(CommonsCore, HasOwnBlocksAndNothingOfPeers) {
  if (TUTTI_SANITIZED) GTEST_SKIP() << "sanitizers leave most memory out of core dumps";
  if (!dumps_here()) GTEST_SKIP() << "core dumps go elsewhere";
  ASSERT_EQ(::setenv("TUTTI_COMMONS_HUGE", GetParam(), 1), 0);
  char folder[] = "/tmp/tutti_core_XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  constexpr std::size_t block_bytes = 4 * mib, peer_bytes = 256 * mib;
  const int end = in_child([&] {
    const rlimit all{RLIM_INFINITY, RLIM_INFINITY};
    if (::chdir(folder) != 0 || ::setrlimit(RLIMIT_CORE, &all) != 0) return false;
    write_pattern(take(block_bytes), block_bytes, mine);
    // A peer's commons, of which some has been used, and seen here.
    const int fd = ::memfd_create("peer", 0);
    os::Window window;
    if (fd < 0 || ::ftruncate(fd, peer_bytes) != 0 || !window.map(fd, peer_bytes)) return false;
    window.open_to(peer_bytes / 2);
    write_pattern(reinterpret_cast<unsigned char*>(window.base()), mib, theirs);
    std::abort();
  });
  EXPECT_EQ(end, 128 + SIGABRT);
  std::string dump;
  std::uintmax_t bytes = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    bytes = file.file_size();
    std::ifstream stream(file.path(), std::ios::binary);
    dump.assign(std::istreambuf_iterator<char>(stream), {});
  }
  std::filesystem::remove_all(folder);
  ASSERT_GT(bytes, block_bytes);
  EXPECT_LT(bytes, peer_bytes);
  const std::size_t at = find(dump, mine, 2048);
  ASSERT_NE(at, std::string::npos);
  const auto* block = reinterpret_cast<const unsigned char*>(dump.data()) + at - 2048;
  EXPECT_TRUE(has_pattern(block, block_bytes, mine));
  EXPECT_EQ(find(dump, theirs, 2048), std::string::npos);
}

// With a file of huge pages, where it can be had, and without.
INSTANTIATE_TEST_SUITE_P(Pages, CommonsCore, ::testing::Values("1", "0"));

}  // namespace
}  // namespace tutti::commons
