// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace tutti::trace {

// A message is a collective at one rank, from its call to its end.
enum class Kind : std::uint8_t { computing, progress, waiting, idle, message };

// Of what: a collective, numbered as its engine does, or one of these.
using What = std::uint8_t;
inline constexpr What nothing = 255;
inline constexpr What wait = 254;
inline constexpr What test = 253;
[[nodiscard]] constexpr bool is_collective(What what) { return what < test; }

struct Entry {
  std::uint64_t begin = 0;  // ticks of the processor's clock, and ns once the recording has ended
  std::uint64_t end = 0;
  std::uint64_t bytes = 0;      // of each call
  std::uint16_t calls = 1;      // how many have become this one
  std::uint16_t core = 0;       // where it ended
  std::uint16_t from_core = 0;  // where a message began
  Kind kind = Kind::computing;
  What what = nothing;
};
static_assert(sizeof(Entry) == 32);

// What one thread did, in order: a fixed number of entries. One thread writes, and another reads
// when that has stopped.
class Ring {
 public:
  explicit Ring(std::span<Entry> room) : room_(room) {}

  void add(const Entry& entry) {
    if (count_ > 0 && goes_on(room_[count_ - 1], entry)) {
      room_[count_ - 1].end = entry.end;
      ++room_[count_ - 1].calls;
      return;
    }
    if (count_ == room_.size()) {
      ++dropped_;
      return;
    }
    room_[count_++] = entry;
  }

  [[nodiscard]] std::span<const Entry> entries() const { return room_.first(count_); }
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  static bool goes_on(const Entry& last, const Entry& next) {
    return last.kind != Kind::message && next.begin == last.end && next.kind == last.kind &&
           next.what == last.what && next.bytes == last.bytes && next.core == last.core &&
           last.calls < std::numeric_limits<std::uint16_t>::max();
  }

  std::span<Entry> room_;
  std::size_t count_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace tutti::trace
