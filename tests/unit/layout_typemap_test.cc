// SPDX-License-Identifier: BSD-3-Clause
// What composing finds out: what is dense, what is too long, where a pipeline may cut.
#include <gtest/gtest.h>

#include <chrono>

#include "layout/layout.h"

namespace tutti::layout {
namespace {

using Numbers = std::vector<std::int64_t>;

TEST(LayoutTypemap, WhatTouchesIsOneBlock) {
  const Typemap number(4);
  EXPECT_TRUE(Layout(number.contiguous(10)).dense());
  EXPECT_TRUE(Layout(number.vector(5, 2, 8)).dense());
  EXPECT_TRUE(Layout(number.indexed(Numbers{1, 3}, Numbers{8, 12})).dense());
  EXPECT_EQ(Layout(number.indexed(Numbers{1, 3}, Numbers{8, 12})).first(), 8);
  const Typemap::Field fields[] = {{2, 0, &number}, {0, 99, &number}, {1, 8, &number}};
  EXPECT_TRUE(Layout(Typemap::structure(fields)).dense());
  const Numbers sizes{4, 5, 6}, subsizes{2, 5, 6}, starts{1, 0, 0};
  const Typemap planes = number.subarray(sizes, subsizes, starts, Typemap::Order::c);
  EXPECT_TRUE(Layout(planes).dense(1));
  EXPECT_FALSE(Layout(planes).dense(2));
  EXPECT_EQ(Layout(planes).first(), 120);
}

TEST(LayoutTypemap, OrderCounts) {
  const Typemap number(4);
  EXPECT_FALSE(Layout(number.indexed(Numbers{1}, Numbers{4, 0})).dense(1));
  EXPECT_FALSE(Layout(number.vector(3, 1, -4)).dense(1));
  EXPECT_TRUE(Layout(number.resized(0, 8)).dense(1));
  EXPECT_FALSE(Layout(number.resized(0, 8)).dense());
}

TEST(LayoutTypemap, NothingIsDense) {
  EXPECT_TRUE(Layout(Typemap()).dense());
  EXPECT_TRUE(Layout(Typemap(8).vector(0, 3, 100)).dense());
  EXPECT_EQ(Layout(Typemap(8).vector(3, 0, 100)).bytes(), 0u);
  Layout(Typemap()).pack(nullptr, nullptr, 0, 0);
}

// What is too long after a few blocks is not composed on and on: that took half a minute.
TEST(LayoutTypemap, WhatIsTooLongIsKnownSoon) {
  Numbers irregular, lengths, places;
  for (std::int64_t i = 0; i < 10'000; ++i) irregular.push_back(i * i);
  const Typemap child = Typemap(1).indexed(Numbers{1}, irregular);
  ASSERT_FALSE(child.too_long());
  for (std::int64_t i = 0; i < 200'000; ++i) {
    lengths.push_back(1 + i % 2);
    places.push_back(i * 300'000'000);
  }
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(child.indexed(lengths, places).too_long());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

// Four dimensions of a million blocks are one run, repeated; irregular ones are not.
TEST(LayoutTypemap, RegularIsShort) {
  const Numbers sizes{40, 40, 40, 40}, subsizes{32, 32, 32, 32}, starts{1, 2, 3, 4};
  const Typemap cube = Typemap(8).subarray(sizes, subsizes, starts, Typemap::Order::c);
  EXPECT_FALSE(cube.too_long());
  EXPECT_EQ(cube.bytes(), 8u << 20);
  Numbers regular, irregular;
  for (std::int64_t i = 0; i < 200'000; ++i) {
    regular.push_back(16 * i);
    irregular.push_back(i * i);
  }
  EXPECT_FALSE(Typemap(8).indexed(Numbers{1}, regular).too_long());
  const Typemap many = Typemap(1).indexed(Numbers{1}, irregular);
  EXPECT_TRUE(many.too_long());
  const Typemap::Field field[] = {{1, 0, &many}};
  EXPECT_TRUE(Typemap::structure(field).too_long());
  EXPECT_TRUE(many.vector(2, 2, 9).resized(0, 1).contiguous(3).too_long());
  EXPECT_TRUE(many.subarray(Numbers{2}, Numbers{1}, Numbers{0}, Typemap::Order::c).too_long());
}

TEST(LayoutTypemap, CountsWithoutEndComeToAnEnd) {
  const Typemap one(4);
  const Typemap::Field fields[] = {{1, 0, &one}, {1, 6, &one}, {2, 14, &one}};
  const Typemap odd = Typemap::structure(fields);
  const Typemap much = odd.contiguous(std::int64_t{1} << 40);
  EXPECT_FALSE(much.too_long());
  EXPECT_EQ(much.bytes(), std::size_t{1} << 44);
  EXPECT_TRUE(much.vector(2, 1, 8).too_long());
}

TEST(LayoutTypemap, GrainIsALineOfElements) {
  EXPECT_EQ(Layout(Typemap(8).contiguous(100)).grain(), 1u);
  EXPECT_EQ(Layout(Typemap(8).vector(100, 1, 1000)).grain(), 1u);
  EXPECT_EQ(Layout(Typemap(8).vector(100, 1, 1000).resized(0, 8)).grain(), 8u * 800);
}

}  // namespace
}  // namespace tutti::layout
