// SPDX-License-Identifier: BSD-3-Clause
// What a thread of the rank has left to do of a late reduction when the collective is over.
#pragma once

#include <memory>

#include "base/base.h"
#include "coll/fold.h"
#include "coll/late/operands.h"

namespace tutti::coll::late {
namespace detail {

template <class Operand>
void fold_all(const Work& work, int operands, Operand operand, std::size_t count) {
  if (fold_few(work, operands, operand, work.recv, count)) return;
  const std::size_t element = work.element_bytes;
  const std::size_t block = std::clamp<std::size_t>(limits::fold_block_bytes / element, 1, count);
  const std::size_t each = round_up(block * element, line_bytes);
  const std::size_t room = places_of(operands) * each;
  const std::unique_ptr<std::byte, void (*)(void*)> places(
      static_cast<std::byte*>(std::aligned_alloc(line_bytes, room)), [](void* p) { std::free(p); });
  if (places == nullptr) {
    log::fatal("out of memory: %zu bytes to fold the operands of a reduction", room);
    std::abort();
  }
  fold_blocks(places.get(), each, block, work, operands, operand, work.recv, count);
}

}  // namespace detail

// Folds in the same order as the other algorithms, so to the same bits.
inline void fold(Collective collective, const Work& work, int ranks, int rank) {
  if (!work.operands->wait()) return;
  Work how = work;
  std::size_t begin = 0, count = work.count;
  int operands = ranks;
  if (scatters_result(collective)) {
    const Slice& mine = work.parts[static_cast<std::size_t>(rank)];
    begin = mine.begin * work.element_bytes;
    count = mine.count;
  } else if (is_scan(collective)) {
    how.order = Order::rank;
    operands = collective == Collective::scan ? rank + 1 : rank;
  }
  const auto operand = [&](int q) -> const std::byte* {
    return q == rank ? static_cast<const std::byte*>(work.send) + begin : work.operands->of(q);
  };
  if (operands > 0 && count > 0) detail::fold_all(how, operands, operand, count);
  work.operands->free();
}

}  // namespace tutti::coll::late
