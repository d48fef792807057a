// SPDX-License-Identifier: BSD-3-Clause
// A ring is bounded, counts what it drops, and merges what goes on.
#include <gtest/gtest.h>

#include <vector>

#include "trace/ring.h"

namespace tutti::test {
namespace {

using trace::Entry;
using trace::Kind;
using trace::Ring;

Entry wait(std::uint64_t begin, std::uint64_t end, std::uint16_t core = 0) {
  return {.begin = begin, .end = end, .core = core, .kind = Kind::waiting, .what = trace::wait};
}

TEST(TraceRing, KeepsTheFirstAndCountsTheRest) {
  std::vector<Entry> room(8);
  Ring ring(std::span<Entry>(room).first(5));
  for (std::uint64_t i = 0; i < 12; ++i) ring.add(wait(10 * i, 10 * i + 5));
  ASSERT_EQ(ring.entries().size(), 5u);
  EXPECT_EQ(ring.dropped(), 7u);
  for (std::uint64_t i = 0; i < 5; ++i) EXPECT_EQ(ring.entries()[i].begin, 10 * i);
  EXPECT_EQ(room[5].end, 0u) << "written behind the end";
}

TEST(TraceRing, MergesWhatGoesOn) {
  std::vector<Entry> room(8);
  Ring ring(room);
  for (std::uint64_t i = 0; i < 100; ++i) ring.add(wait(10 * i, 10 * i + 10));
  ASSERT_EQ(ring.entries().size(), 1u);
  EXPECT_EQ(ring.entries()[0].begin, 0u);
  EXPECT_EQ(ring.entries()[0].end, 1000u);
  EXPECT_EQ(ring.entries()[0].calls, 100);
}

TEST(TraceRing, MergesNothingElse) {
  std::vector<Entry> room(16);
  Ring ring(room);
  const Entry first = wait(0, 10);
  Entry kind = first, what = first, bytes = first, message = first;
  kind.kind = Kind::computing;
  what.what = trace::test;
  bytes.bytes = 8;
  message.kind = Kind::message;
  message.begin = 10;
  std::size_t count = 0;
  for (Entry other : {wait(11, 12), wait(10, 12, 1), kind, what, bytes}) {
    if (other.begin == 0) other.begin = 10;
    ring.add(first);
    ring.add(other);
    count += 2;
    EXPECT_EQ(ring.entries().size(), count);
  }
  for (int i = 0; i < 2; ++i) ring.add(message);
  EXPECT_EQ(ring.entries().size(), count + 2) << "each message is one";
}

TEST(TraceRing, BeginsAnewWhereTheCountEnds) {
  std::vector<Entry> room(8);
  Ring ring(room);
  for (std::uint64_t i = 0; i < 70'000; ++i) ring.add(wait(i, i + 1));
  ASSERT_EQ(ring.entries().size(), 2u);
  EXPECT_EQ(ring.entries()[0].calls + ring.entries()[1].calls, 70'000);
}

// What goes on where it is full costs no room.
TEST(TraceRing, MergesWhenItIsFull) {
  std::vector<Entry> room(1);
  Ring ring(room);
  ring.add(wait(0, 10));
  ring.add(wait(10, 20));
  EXPECT_EQ(ring.dropped(), 0u);
  EXPECT_EQ(ring.entries()[0].end, 20u);
}

}  // namespace
}  // namespace tutti::test
