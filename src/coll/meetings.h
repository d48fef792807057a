// SPDX-License-Identifier: BSD-3-Clause
// In which order the operands of a reduction meet. It depends on their number and on Work::order
// alone. So every member gets the same bits, whichever member folds a slice by whichever algorithm.
// Neighbours meet, so operations that do not commute are right as well.
//   tree  as in the recursive doubling of most MPIs: (r0 op r1) op (r2 op r3). Where the ranks are
//         no power of two, the first ones meet in pairs until what is left is one:
//         ((r0 op r1) op r2) op (r3 op r4)
//   rank  one after the other: ((r0 op r1) op r2) op r3
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "coll/work.h"
#include "segment/segment.h"

namespace tutti::coll {

// One addition: two operands or sums meet, or four in pairs. One alone is the result. Sums wait at
// places, which are used as a stack.
struct Meeting {
  std::int16_t place;                // where the sum goes
  std::int8_t count;                 // of those who meet
  bool last;                         // the sum is the result
  std::array<std::int16_t, 4> from;  // a member's operand; -1: what waits at place, place + 1 ...
};

// How many places so many operands need, if the operands are copied to places as well.
constexpr std::size_t places_of(int operands) {
  const auto levels = static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(operands))) - 1;
  return 3 * (levels / 2) + levels % 2 + 2;
}

namespace detail {

// The meetings for each number of operands that there has been, by order; never freed.
using Meetings = std::array<std::atomic<const Meeting*>, segment::most_members + 1>;
extern constinit std::array<Meetings, 2> meetings;
[[nodiscard]] const Meeting* make_meetings(Order order, int operands);

}  // namespace detail

// The first of the meetings of so many operands.
[[nodiscard]] inline const Meeting* meetings_of(Order order, int operands) {
  const auto& known = detail::meetings[static_cast<std::size_t>(order)];
  const Meeting* first = known[static_cast<std::size_t>(operands)].load(
      std::memory_order_acquire);  // pairs with make_meetings()
  return first != nullptr ? first : detail::make_meetings(order, operands);
}

}  // namespace tutti::coll
