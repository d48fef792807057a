// SPDX-License-Identifier: BSD-3-Clause
// Random types against the naive reference: sizes, whole elements, ranges, every split.
#include <gtest/gtest.h>

#include "support/seeds.h"
#include "unit/layout_reference.h"

namespace tutti::layout::testing {
namespace {

// Consecutive elements of a type in memory of their own, every byte of which is known.
class Scene {
 public:
  Scene(const Bytes& type, std::size_t elements, std::mt19937_64& random) {
    for (std::size_t e = 0; e < elements; ++e)
      for (const std::ptrdiff_t offset : type.offsets)
        offsets_.push_back(offset + static_cast<std::ptrdiff_t>(e) * type.extent());
    for (const std::ptrdiff_t offset : offsets_) {
      low_ = std::min(low_, offset);
      high_ = std::max(high_, offset + 1);
    }
    memory_.resize(static_cast<std::size_t>(high_ - low_) + 2 * guard);
    for (std::byte& byte : memory_) byte = static_cast<std::byte>(random());
  }

  [[nodiscard]] std::size_t packed_bytes() const { return offsets_.size(); }
  std::byte* base() { return memory_.data() + guard - low_; }

  ::testing::AssertionResult packs(const Layout& layout, std::size_t begin, std::size_t bytes) {
    std::vector<std::byte> packed(bytes + 2 * guard, std::byte{0x5a});
    std::vector<std::byte> expected = packed;
    for (std::size_t i = 0; i < bytes; ++i) expected[guard + i] = base()[offsets_[begin + i]];
    layout.pack(packed.data() + guard, base(), begin, bytes);
    if (packed == expected) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "packed [" << begin << ", +" << bytes << ")";
  }

  ::testing::AssertionResult unpacks(const Layout& layout, std::size_t begin, std::size_t bytes) {
    std::vector<std::byte> packed(bytes), expected = memory_;
    for (std::size_t i = 0; i < bytes; ++i) {
      std::byte& byte = expected[guard + static_cast<std::size_t>(offsets_[begin + i] - low_)];
      packed[i] = byte = ~byte;
    }
    layout.unpack(base(), packed.data(), begin, bytes);
    if (memory_ == expected) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "unpacked [" << begin << ", +" << bytes << ")";
  }

 private:
  static constexpr std::size_t guard = 64;
  std::vector<std::ptrdiff_t> offsets_;
  std::ptrdiff_t low_ = 0, high_ = 0;
  std::vector<std::byte> memory_;
};

void check(const Both& type, std::size_t elements, int ranges, std::mt19937_64& random) {
  ASSERT_FALSE(type.typemap.too_long());
  const Layout layout(type.typemap);
  ASSERT_EQ(layout.bytes(), type.bytes.offsets.size());
  ASSERT_EQ(layout.extent(), type.bytes.extent());
  ASSERT_EQ(type.typemap.lower_bound(), type.bytes.lower);
  const bool unpackable = !type.bytes.overlaps(elements);
  Scene scene(type.bytes, elements, random);
  const std::size_t all = scene.packed_bytes();
  ASSERT_TRUE(scene.packs(layout, 0, all));
  if (unpackable) {
    ASSERT_TRUE(scene.unpacks(layout, 0, all));
  }
  for (int i = 0; i < ranges; ++i) {
    const std::size_t begin = random() % (all + 1), bytes = random() % (all - begin + 1);
    ASSERT_TRUE(scene.packs(layout, begin, bytes));
    if (unpackable) {
      ASSERT_TRUE(scene.unpacks(layout, begin, bytes));
    }
  }
  bool dense = true;
  for (std::size_t i = 1; i < type.bytes.offsets.size(); ++i)
    dense = dense && type.bytes.offsets[i] == type.bytes.offsets[i - 1] + 1;
  ASSERT_EQ(layout.dense(1), dense);
  if (dense && layout.bytes() > 0) {
    ASSERT_EQ(layout.first(), type.bytes.offsets[0]);
  }
  const bool follows =
      layout.bytes() == 0 || type.bytes.extent() == static_cast<std::ptrdiff_t>(layout.bytes());
  ASSERT_EQ(layout.dense(), dense && follows);
}

TEST(LayoutPack, RandomTypes) {
  const test::Seeds run = test::seeds(4000);
  for (std::uint64_t seed = run.first; seed <= run.last; ++seed) {
    SCOPED_TRACE("TUTTI_TEST_SEED=" + std::to_string(seed));
    RandomTypes types(seed);
    std::mt19937_64 random(seed);
    const Both type = types.make(static_cast<int>(types.number(0, 5)));
    const bool many = type.bytes.offsets.size() < 100 && types.number(0, 3) == 0;
    check(type, static_cast<std::size_t>(types.number(0, many ? 300 : 6)), 30, random);
    if (HasFatalFailure()) return;
  }
}

TEST(LayoutPack, EverySplit) {
  std::mt19937_64 random(1);
  int found = 0;
  for (std::uint64_t seed = 1; found < 60; ++seed) {
    RandomTypes types(seed);
    const Both type = types.make(3);
    const std::size_t all = 3 * type.bytes.offsets.size();
    if (all == 0 || all > 120 || type.bytes.overlaps(3)) continue;
    ++found;
    SCOPED_TRACE(seed);
    const Layout layout(type.typemap);
    Scene scene(type.bytes, 3, random);
    for (std::size_t begin = 0; begin <= all; ++begin)
      for (std::size_t bytes = 0; begin + bytes <= all; ++bytes) {
        ASSERT_TRUE(scene.packs(layout, begin, bytes));
        ASSERT_TRUE(scene.unpacks(layout, begin, bytes));
      }
  }
}

// The columns of a matrix, taken as rows of another: every block size, whole tiles and rests.
TEST(LayoutPack, Transposes) {
  std::mt19937_64 random(2);
  for (const std::int64_t block_bytes : {1, 2, 3, 4, 8, 12, 16, 24, 32, 48})
    for (const std::int64_t rows : {1, 2, 7, 63, 64, 65, 130})
      for (const std::int64_t columns : {1, 3, 8, 17, 70}) {
        SCOPED_TRACE(::testing::Message() << block_bytes << " " << rows << " " << columns);
        const std::ptrdiff_t stride = block_bytes * (columns + 2);
        const Typemap one(static_cast<std::size_t>(block_bytes));
        Both type{one.vector(rows, 1, stride).resized(0, block_bytes), {}};
        for (std::int64_t i = 0; i < rows; ++i)
          type.bytes.place(block(static_cast<std::size_t>(block_bytes)), i * stride);
        type.bytes.lower = 0;
        type.bytes.upper = block_bytes;
        check(type, static_cast<std::size_t>(columns), 4, random);
        if (HasFatalFailure()) return;
      }
}

// The tiles of a transpose: strides at which lines compete and others, whole lines or not on either
// side, columns and rows taken backwards, ranges that begin anywhere.
TEST(LayoutPack, TilesOfTransposes) {
  std::mt19937_64 random(3);
  for (const std::int64_t size : {1, 2, 4, 8, 16}) {
    const std::int64_t lanes = 16 / size, side = 64 / size;
    for (const std::int64_t rows : {lanes, side, side + 1, 3 * side - 1, 5 * side + lanes})
      for (const std::int64_t columns : {side - 1, side, 2 * side + 1, 6 * side - 1})
        for (const std::ptrdiff_t gap : {std::ptrdiff_t{0}, 64 - columns % 64, std::ptrdiff_t{3}})
          for (const int sign : {1, -1}) {
            SCOPED_TRACE(::testing::Message()
                         << size << " " << rows << " " << columns << " " << gap << " " << sign);
            const std::ptrdiff_t stride = size * (columns + gap), backwards = -stride;
            const std::ptrdiff_t extent = random() % 2 == 0 ? size : -size;
            const Typemap one(static_cast<std::size_t>(size));
            const std::ptrdiff_t step = sign > 0 ? stride : backwards;
            Both type{one.vector(rows, 1, step).resized(0, extent), {}};
            for (std::int64_t i = 0; i < rows; ++i)
              type.bytes.place(block(static_cast<std::size_t>(size)), i * step);
            type.bytes.lower = 0;
            type.bytes.upper = extent;
            check(type, static_cast<std::size_t>(columns), 4, random);
            if (HasFatalFailure()) return;
          }
  }
}

// More than a row of tiles is long, and than is taken for what the caches hold; from a cache line
// on or not, in pieces as of a pipeline or nearly as a whole. Every number says where it was.
TEST(LayoutPack, LargeTransposes) {
  for (const std::size_t shift : {0, 1, 5})
    for (const std::size_t rows : {2048, 700})
      for (const std::size_t columns : {2048, 1601, 270})
        for (const bool pieces : {true, false}) {
          SCOPED_TRACE(::testing::Message() << shift << " " << rows << " " << columns);
          const auto stride = static_cast<std::ptrdiff_t>(4 * columns);
          const Typemap column = Typemap(4).vector(static_cast<std::int64_t>(rows), 1, stride);
          const Layout layout(column.resized(0, 4));
          const std::size_t all = rows * columns, bytes = 4 * all;
          const std::size_t step = pieces ? layout.grain() : (columns - 100) * layout.bytes() + 4;
          std::vector<std::uint32_t> matrix(all + 32), packed(all + 32), back(all + 32);
          std::iota(matrix.begin(), matrix.end(), 0u);
          const auto start = [&](std::vector<std::uint32_t>& v) {
            return v.data() + -reinterpret_cast<std::uintptr_t>(v.data()) % 64 / 4 + shift;
          };
          const auto data = [&](auto& v) { return reinterpret_cast<std::byte*>(start(v)); };
          for (std::size_t at = 0; at < bytes; at += step) {
            const std::size_t some = std::min(step, bytes - at);
            layout.pack(data(packed) + at, data(matrix), at, some);
            layout.unpack(data(back), data(packed) + at, at, some);
          }
          for (std::size_t c = 0; c < columns; ++c)
            for (std::size_t r = 0; r < rows; ++r)
              ASSERT_EQ(start(packed)[c * rows + r], start(matrix)[r * columns + c]);
          ASSERT_TRUE(std::equal(start(back), start(back) + all, start(matrix)));
          const auto others = static_cast<std::size_t>(std::count(back.begin(), back.end(), 0u));
          ASSERT_LE(others, 32u + (start(matrix) == matrix.data()));  // nothing beside it
          ASSERT_GE(others, 32u);
        }
}

// Offsets that are addresses.
TEST(LayoutPack, FromBottom) {
  int numbers[8] = {10, 11, 12, 13, 14, 15, 16, 17};
  const auto address = reinterpret_cast<std::intptr_t>(numbers);
  const Typemap number(sizeof(int));
  const Typemap::Field fields[] = {{1, address + 4, &number}, {2, address + 20, &number}};
  const Layout layout{Typemap::structure(fields)};
  int packed[3] = {};
  layout.pack(reinterpret_cast<std::byte*>(packed), nullptr, 0, sizeof packed);
  EXPECT_EQ(packed[0], 11);
  EXPECT_EQ(packed[1], 15);
  EXPECT_EQ(packed[2], 16);
  packed[2] = 5;
  layout.unpack(nullptr, reinterpret_cast<std::byte*>(&packed[2]), 8, 4);
  EXPECT_EQ(numbers[6], 5);
}

}  // namespace
}  // namespace tutti::layout::testing
