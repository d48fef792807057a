// SPDX-License-Identifier: BSD-3-Clause
#include "coll/meetings.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace tutti::coll::detail {
namespace {

class Maker {
 public:
  // Makes the sum of so many leaves, which then waits at `place`. Returns `waiting`, or the number
  // of an operand that is the sum alone. The first `pairs` leaves are pairs of operands, the others
  // single ones.
  int tree(int first, int leaves, int pairs, int place) {
    if (leaves == 1 && first >= pairs) return first + pairs;
    if (leaves == 1) return meet(place, {2 * first, 2 * first + 1}, 2);
    // Four at once where they are equally many.
    const int parts = std::countr_zero(static_cast<unsigned>(leaves)) % 2 == 0 ? 4 : 2;
    std::array<int, 4> from{};
    for (int i = 0; i < parts; ++i)
      from[static_cast<std::size_t>(i)] =
          tree(first + i * (leaves / parts), leaves / parts, pairs, place + i);
    return meet(place, from, parts);
  }

  void row(int operands) {
    for (int q = 1; q < operands; ++q) (void)meet(0, {q == 1 ? 0 : waiting, q}, 2);
  }

  std::vector<Meeting> list() {
    if (list_.empty()) (void)meet(0, {}, 1);
    list_.back().last = true;
    return std::move(list_);
  }

 private:
  static constexpr int waiting = -1;

  int meet(int place, std::array<int, 4> from, int count) {
    Meeting& made = list_.emplace_back();
    made.place = static_cast<std::int16_t>(place);
    made.count = static_cast<std::int8_t>(count);
    for (std::size_t i = 0; i < 4; ++i) made.from[i] = static_cast<std::int16_t>(from[i]);
    return waiting;
  }

  std::vector<Meeting> list_;
};

}  // namespace

constinit std::array<Meetings, 2> meetings{};

const Meeting* make_meetings(Order order, int operands) {
  Maker maker;
  const auto leaves = static_cast<int>(std::bit_floor(static_cast<unsigned>(operands)));
  if (order == Order::tree)
    (void)maker.tree(0, leaves, operands - leaves, 0);
  else
    maker.row(operands);
  auto& known = meetings[static_cast<std::size_t>(order)][static_cast<std::size_t>(operands)];
  const std::vector<Meeting> list = maker.list();
  auto copy = std::make_unique_for_overwrite<Meeting[]>(list.size());
  std::copy(list.begin(), list.end(), copy.get());
  const Meeting* first = nullptr;
  // Pairs with meetings_of(). Another thread may have been faster.
  if (known.compare_exchange_strong(first, copy.get(), std::memory_order_acq_rel))
    first = copy.release();
  return first;
}

}  // namespace tutti::coll::detail
