// SPDX-License-Identifier: BSD-3-Clause
// copy, copy2 and swap of every instruction set this processor has: lengths, alignments, both
// stores.
#include <gtest/gtest.h>

#include "reduce/targets.h"
#include "unit/reduce_operands.h"

namespace tutti::reduce::testing {
namespace {

::testing::AssertionResult check(const Copies& copies, const Bytes& source, std::size_t bytes,
                                 std::size_t from, std::size_t a, std::size_t b, Stores stores) {
  Guarded input(from, source.data(), bytes);
  Guarded one(a, bytes), two_a(a, bytes), two_b(b, bytes);
  copies.copy(one.data(), input.data(), bytes, stores);
  copies.copy2(two_a.data(), two_b.data(), input.data(), bytes, stores);
  bool intact = input.guards_intact() && input.equals(source.data());
  for (const Guarded* g : {&one, &two_a, &two_b}) {
    intact = intact && g->equals(source.data()) && g->guards_intact();
  }
  Bytes other(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(bytes));
  for (std::byte& value : other) value = ~value;
  Guarded mine(a, other.data(), bytes);
  copies.swap(mine.data(), input.data(), bytes);
  intact = intact && mine.equals(source.data()) && input.equals(other.data()) &&
           mine.guards_intact() && input.guards_intact();
  if (intact) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << bytes << " bytes, offsets " << from << " " << a << " "
                                       << b << (stores == Stores::plain ? " plain" : " streaming");
}

TEST(ReduceCopy, LengthsAndAlignments) {
  const Bytes source = Operands(3).make(Type::u8, 1000);
  std::mt19937_64 random(4);
  for (const Target& target : targets()) {
    if (!target.is_supported()) continue;
    SCOPED_TRACE(target.name);
    for (std::size_t bytes = 0; bytes <= 600; ++bytes) {
      for (const Stores stores : {Stores::plain, Stores::streaming}) {
        ASSERT_TRUE(check(*target.copies, source, bytes, 0, 0, 0, stores));
        for (int i = 0; i < 10; ++i) {
          ASSERT_TRUE(check(*target.copies, source, bytes, random() % 64, random() % 64,
                            random() % 64, stores));
        }
      }
    }
    for (std::size_t a = 0; a < 64; ++a) {
      for (std::size_t b = 0; b < 64; ++b) {
        ASSERT_TRUE(check(*target.copies, source, 517, a ^ b, a, b, Stores::streaming));
        ASSERT_TRUE(check(*target.copies, source, 517, a ^ b, a, b, Stores::plain));
      }
    }
  }
}

TEST(ReduceCopy, LargeAndUneven) {
  const Bytes source = Operands(5).make(Type::u8, (3u << 20) + 77);
  for (const Target& target : targets()) {
    if (!target.is_supported()) continue;
    SCOPED_TRACE(target.name);
    for (const Stores stores : {Stores::plain, Stores::streaming}) {
      ASSERT_TRUE(check(*target.copies, source, source.size(), 0, 0, 0, stores));
      ASSERT_TRUE(check(*target.copies, source, source.size(), 1, 3, 19, stores));
      ASSERT_TRUE(check(*target.copies, source, source.size(), 8, 8, 7, stores));
    }
  }
}

TEST(ReduceCopy, PublicFunctionsCopy) {
  const Bytes source = Operands(6).make(Type::u8, 777);
  const Copies copies = {copy, copy2, swap};
  EXPECT_TRUE(check(copies, source, 777, 5, 0, 48, Stores::plain));
  EXPECT_TRUE(check(copies, source, 777, 5, 0, 48, Stores::streaming));
}

}  // namespace
}  // namespace tutti::reduce::testing
