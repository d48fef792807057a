// SPDX-License-Identifier: BSD-3-Clause
// The arithmetic by which members agree on who does what, without a word.
#include <gtest/gtest.h>

#include "coll/coll.h"

namespace tutti::coll {
namespace {

constexpr std::size_t kib = 1024, gib = kib * kib * kib;

TEST(Slices, CoverTheVectorOnceInOrder) {
  for (const std::size_t count :
       {0ul, 1ul, 63ul, 64ul, 65ul, 1000ul, 4096ul, 65'537ul, 3 * gib + 7})
    for (const std::size_t parts : {1ul, 2ul, 3ul, 7ul, 16ul, 64ul, 300ul}) {
      std::size_t next = 0;
      for (std::size_t index = 0; index < parts; ++index) {
        const Slice slice = slice_of(count, parts, index);
        ASSERT_EQ(slice.begin, next) << count << " in " << parts;
        ASSERT_TRUE(slice.begin % 64 == 0 || slice.count == 0);
        next += slice.count;
      }
      ASSERT_EQ(next, count) << count << " in " << parts;
    }
}

TEST(Slices, DifferByAGrainButForTheLast) {
  for (const std::size_t count : {1000ul, 65'537ul, 1'000'000ul})
    for (const std::size_t parts : {2ul, 3ul, 7ul})
      for (std::size_t index = 0; index + 1 < parts; ++index)
        EXPECT_LE(slice_of(count, parts, index + 1).count, slice_of(count, parts, index).count);
}

// A share counts its chunks in few bits, whatever the size of the message.
TEST(Chunks, AreNeverMoreThanAShareCounts) {
  for (std::size_t whole = 1; whole < 2048 * gib; whole = whole * 3 + 1)
    for (const std::size_t most : {64 * kib, 512 * kib, 64 * kib / 32, 256 * kib / 24}) {
      const std::size_t chunk = chunk_of(whole, most);
      ASSERT_GT(chunk, 0u);
      ASSERT_LE((whole + chunk - 1) / chunk, std::size_t{segment::most_chunks}) << whole;
    }
}

}  // namespace
}  // namespace tutti::coll
