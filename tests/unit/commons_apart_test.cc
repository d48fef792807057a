// SPDX-License-Identifier: BSD-3-Clause
// Blocks that a program goes over together do not evict each other from the first cache, where a
// processor looks there by a hash of the address.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "commons_testing.h"

namespace tutti::commons {
namespace {

using namespace testing;

// Of AMD's processors since Zen, as Lipp et al. found it ("Take A Way", 2020, figure 3).
unsigned hash_of(const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const auto pair = [&](int low, int high) { return (at >> low ^ at >> high) & 1; };
  unsigned hash = 0;
  for (int i = 0; i < 3; ++i) hash = hash << 1 | static_cast<unsigned>(pair(12 + i, 27 - i));
  for (int i = 0; i < 5; ++i) hash = hash << 1 | static_cast<unsigned>(pair(15 + i, 20 + i));
  return hash;
}

class CommonsApart : public ::testing::TestWithParam<std::size_t> {};

TEST_P(CommonsApart, NoTwoOfFourBlocksHaveOneHash) {
  const int outcome = in_child([] {
    std::set<unsigned> hashes;
    for (int i = 0; i < 4; ++i) hashes.insert(hash_of(take(GetParam())));
    return hashes.size() == 4;
  });
  EXPECT_EQ(outcome, 0);
}
INSTANTIATE_TEST_SUITE_P(Bytes, CommonsApart,
                         ::testing::Values(256 * kib, 1 * mib, 1 * mib + 32 * kib, 8 * mib,
                                           64 * mib, 128 * mib, 256 * mib, 512 * mib),
                         [](const auto& each) { return std::to_string(each.param / kib) + "KiB"; });

TEST(CommonsApartPages, TheProgramIsNotToldOfThem) {
  unsigned char* block = take(1 * mib);
  EXPECT_EQ(usable_bytes(block), 1 * mib);
  EXPECT_GT(stats().bytes, 1 * mib);
  EXPECT_EQ(resize(block, 1 * mib), block);
  EXPECT_EQ(usable_bytes(block), 1 * mib);
  release(block);
}

TEST(CommonsApartPages, WhereThereIsNoRoomForThemABlockDoesWithout) {
  const int outcome = in_child([] {
    ::setenv("TUTTI_COMMONS_RANGE", "8M", 1);
    return take(8 * mib - 8 * kib) != nullptr && is_valid();
  });
  EXPECT_EQ(outcome, 0);
}

}  // namespace
}  // namespace tutti::commons
